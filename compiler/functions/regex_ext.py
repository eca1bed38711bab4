"""The regex extension: RE2 patterns (cel-go `ext.Regex`)."""

from __future__ import annotations

from ..celtypes import INT, STRING, list_of, optional_of
from .model import ERROR, Overload, Reads, Size, Steps

REGEX_EXT = (
    Overload(
        "regex_replace_string_string_string",
        "regex.replace",
        (STRING, STRING, STRING),
        STRING,
        "The text with every match of the pattern replaced; \\1 to \\9 in the replacement are groups, \\0 is the match.",
        (
            (r"regex.replace('hello world', '(\\w+) (\\w+)', '\\2 \\1')", "world hello"),
            (r"regex.replace('ab', 'a', '\\1') == ''", ERROR),
            ("regex.replace('ab', 'a' + '(', '') == ''", ERROR),
        ),
        size=Size.PATTERN_REPLACED,
        steps=Steps.MATCHED | Steps.TEXT_MADE,
        reads=Reads.REMADE,
        pattern=1,
    ),
    Overload(
        "regex_replace_string_string_string_int",
        "regex.replace",
        (STRING, STRING, STRING, INT),
        STRING,
        "The text with that many matches, from the left, replaced; a negative number means all.",
        (
            ("regex.replace('banana', 'a', 'x', 2)", "bxnxna"),
            ("regex.replace('banana', 'a', 'x', 0)", "banana"),
            ("regex.replace('banana', 'a', 'x', -1)", "bxnxnx"),
        ),
        size=Size.PATTERN_REPLACED,
        steps=Steps.MATCHED | Steps.TEXT_MADE,
        reads=Reads.REMADE,
        pattern=1,
    ),
    Overload(
        "regex_extract_string_string",
        "regex.extract",
        (STRING, STRING),
        optional_of(STRING),
        "The first match, or its group where the pattern has one; absent when there is no match or the group is empty.",
        (
            ("regex.extract('item-A, item-B', 'item-([A-Z])').value()", "A"),
            ("regex.extract('hello', 'z').hasValue()", False),
            ("regex.extract('ab', '(a)(b)').hasValue()", ERROR),
        ),
        size=Size.SUBTEXT,
        steps=Steps.MATCHED,
        pattern=1,
    ),
    Overload(
        "regex_extractAll_string_string",
        "regex.extractAll",
        (STRING, STRING),
        list_of(STRING),
        "All matches, or their group, where it is not empty, if the pattern has one.",
        (
            ("regex.extractAll('id:1, id:2', 'id:[0-9]') == ['id:1', 'id:2']", True),
            ("regex.extractAll('id:1, id:2', 'id:([0-9])') == ['1', '2']", True),
            ("regex.extractAll('ab', 'z') == []", True),
        ),
        size=Size.PARTS,
        steps=Steps.MATCHED,
        pattern=1,
    ),
)
