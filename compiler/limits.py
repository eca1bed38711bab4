"""How large a filter may be. A larger one is refused, with the limit in the message."""

MAX_TEXT = 100_000
"""Code points in one expression."""
MAX_DEPTH = 100
"""Levels of the syntax tree: nested calls, conditions, selections."""
MAX_NODES = 20_000
"""Nodes of the syntax tree."""
