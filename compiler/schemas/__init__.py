"""Schemas of payloads, as values that are parsed already, and the CEL type of what each describes."""
