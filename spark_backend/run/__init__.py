"""Runs: events through filters, every outcome written, counted and explained."""
