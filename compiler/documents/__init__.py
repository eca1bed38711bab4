"""YAML and JSON text as values that know where they were written."""
