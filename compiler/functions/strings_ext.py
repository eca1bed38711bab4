"""The strings extension (cel-go `ext.Strings`, version 4). Positions and lengths count code points, from 0."""

from __future__ import annotations

from ..celtypes import DYN, INT, STRING, CelType, list_of
from .model import ERROR, Overload

_STRINGS = list_of(STRING)


def _method(
    id_: str, function: str, params: tuple[CelType, ...], result: CelType, doc: str, *examples: tuple[str, object]
) -> Overload:
    return Overload(id_, function, params, result, doc, examples, member=True)


STRINGS_EXT = (
    _method(
        "string_char_at_int",
        "charAt",
        (STRING, INT),
        STRING,
        "The code point at the position; empty at the end of the target, an error past it.",
        ("'tacocat'.charAt(3)", "o"),
        ("'tacocat'.charAt(7)", ""),
        ("'tacocat'.charAt(8) == ''", ERROR),
    ),
    _method(
        "string_index_of_string",
        "indexOf",
        (STRING, STRING),
        INT,
        "The position of the first occurrence of the text; -1 when there is none.",
        ("'tacocat'.indexOf('ac')", 1),
        ("'tacocat'.indexOf('none')", -1),
        ("'tacocat'.indexOf('')", 0),
    ),
    _method(
        "string_index_of_string_int",
        "indexOf",
        (STRING, STRING, INT),
        INT,
        "The position of the first occurrence of the text that begins at or after a position of the target.",
        ("'tacocat'.indexOf('a', 3)", 5),
        ("'tacocat'.indexOf('a', 8) == -1", ERROR),
    ),
    _method(
        "string_last_index_of_string",
        "lastIndexOf",
        (STRING, STRING),
        INT,
        "The position of the last occurrence of the text; -1 when there is none.",
        ("'tacocat'.lastIndexOf('at')", 5),
        ("'tacocat'.lastIndexOf('none')", -1),
        ("'tacocat'.lastIndexOf('')", 7),
    ),
    _method(
        "string_last_index_of_string_int",
        "lastIndexOf",
        (STRING, STRING, INT),
        INT,
        "The position of the last occurrence of the text that begins at or before a position of the target.",
        ("'tacocat'.lastIndexOf('a', 3)", 1),
        ("'tacocat'.lastIndexOf('a', 30) == -1", ERROR),
    ),
    _method(
        "list_join",
        "join",
        (_STRINGS,),
        STRING,
        "The texts one after the other.",
        ("['hello', 'world'].join()", "helloworld"),
        ("[].join()", ""),
    ),
    _method(
        "list_join_string",
        "join",
        (_STRINGS, STRING),
        STRING,
        "The texts with the separator between them.",
        ("['hello', 'world'].join(', ')", "hello, world"),
        ("['hello'].join('/')", "hello"),
    ),
    _method(
        "string_format",
        "format",
        (STRING, list_of(DYN)),
        STRING,
        "The target with its clauses replaced by the values in order: %s any value, %d a number, %f and %e with the "
        "digits of %.3f, %b %o %x %X a whole number in binary, octal and hexadecimal, %% a percent sign.",
        ("'%s has %d parts'.format(['it', 3])", "it has 3 parts"),
        ("'%.2f and %x'.format([1.5, 255])", "1.50 and ff"),
        ("'%s'.format([{'b': [1, 2.5], 'a': null}])", "{a: null, b: [1, 2.5]}"),
        ("'%s %s'.format(['only one']) == ''", ERROR),
        ("'%d'.format(['text']) == ''", ERROR),
    ),
    _method(
        "string_lower_ascii",
        "lowerAscii",
        (STRING,),
        STRING,
        "The target with A to Z in lower case; no other letter changes.",
        ("'TacoC\u00c6t'.lowerAscii()", "tacoc\u00c6t"),
    ),
    _method(
        "string_upper_ascii",
        "upperAscii",
        (STRING,),
        STRING,
        "The target with a to z in upper case; no other letter changes.",
        ("'taco\u00e6t'.upperAscii()", "TACO\u00e6T"),
    ),
    _method(
        "string_replace_string_string",
        "replace",
        (STRING, STRING, STRING),
        STRING,
        "The target with every occurrence of the first text replaced by the second.",
        ("'hello hello'.replace('he', 'we')", "wello wello"),
        ("'ab'.replace('', '-')", "-a-b-"),
    ),
    _method(
        "string_replace_string_string_int",
        "replace",
        (STRING, STRING, STRING, INT),
        STRING,
        "The target with that many occurrences, from the left, of the first text replaced by the second; a negative "
        "number means all.",
        ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
        ("'hello hello'.replace('he', 'we', 0)", "hello hello"),
        ("'hello hello'.replace('he', 'we', -1)", "wello wello"),
    ),
    _method(
        "string_reverse",
        "reverse",
        (STRING,),
        STRING,
        "The code points of the target from last to first.",
        ("'gums'.reverse()", "smug"),
    ),
    _method(
        "string_split_string",
        "split",
        (STRING, STRING),
        _STRINGS,
        "The parts of the target between the separators; its code points when the separator is empty.",
        ("'a,b,'.split(',') == ['a', 'b', '']", True),
        ("'abc'.split('') == ['a', 'b', 'c']", True),
    ),
    _method(
        "string_split_string_int",
        "split",
        (STRING, STRING, INT),
        _STRINGS,
        "At most that many parts, the last of which is the rest; 0 gives none, a negative number all.",
        ("'a b c'.split(' ', 2) == ['a', 'b c']", True),
        ("'a b c'.split(' ', 0) == []", True),
        ("'a b c'.split(' ', -1) == ['a', 'b', 'c']", True),
    ),
    _method(
        "string_substring_int",
        "substring",
        (STRING, INT),
        STRING,
        "The target from the position on.",
        ("'tacocat'.substring(4)", "cat"),
        ("'tacocat'.substring(7)", ""),
        ("'tacocat'.substring(8) == ''", ERROR),
    ),
    _method(
        "string_substring_int_int",
        "substring",
        (STRING, INT, INT),
        STRING,
        "The target from the first position up to, not including, the second.",
        ("'tacocat'.substring(0, 4)", "taco"),
        ("'tacocat'.substring(2, 1) == ''", ERROR),
        ("'tacocat'.substring(1, 50) == ''", ERROR),
    ),
    _method(
        "string_trim",
        "trim",
        (STRING,),
        STRING,
        "The target without the white space (as Unicode has it) at its ends.",
        ("'  \\ttrim\\n  '.trim()", "trim"),
    ),
    Overload(
        "strings_quote",
        "strings.quote",
        (STRING,),
        STRING,
        "The text as a literal in double quotes, with control characters, backslashes and quotes escaped.",
        (("strings.quote('a\"b\\n')", '"a\\"b\\n"'),),
    ),
)
