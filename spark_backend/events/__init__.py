"""Readers of events: files and tables become the columns that filters read."""
