"""Texts that say which texts match: RE2's patterns, and topic filters of MQTT."""

from .re2_patterns import PATTERN_ARGUMENT, Literal, Refused, compile_re2, literal_of, refusal, searcher

__all__ = ["PATTERN_ARGUMENT", "Literal", "Refused", "compile_re2", "literal_of", "refusal", "searcher"]
