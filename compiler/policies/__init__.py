"""Policies: ordered validations that accept or reject a message."""
