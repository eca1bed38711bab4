"""What a filter may name: roots and their types, as data."""
