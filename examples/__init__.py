"""Example triggers and events, which `tricel examples` copies."""
