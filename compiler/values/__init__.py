"""Values: those of CEL in Python, and JSON, VARIANT bytes, records and times as they are read into them."""
