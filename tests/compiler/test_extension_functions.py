"""The extension functions: corner cases by overload id, limits on what is built, and the engine beside them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_strings
from tricel.compiler import Source, parse
from tricel.compiler.functions import FAMILIES, Overload
from tricel.compiler.interpreter import IMPLEMENTATIONS, CelError, evaluate, same
from tricel.compiler.interpreter.operators import MAX_SIZE
from tricel.compiler.values.cel import ABSENT, BoolKey, Duration, Optional, Timestamp, TypeValue, Uint

EXTENSIONS = [row for name, family in FAMILIES.items() if name.endswith(" extension") for row in family]
NAN, INF = math.nan, math.inf
LEAST = -(2**63)
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"

VALUES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("string_char_at_int", ("\u00a9\U0001f600T", 1), "\U0001f600"),
    ("string_char_at_int", ("", 0), ""),
    ("string_index_of_string", ("", "a"), -1),
    ("string_index_of_string", ("ta\u00a9o\u00a9", "o"), 3),
    ("string_index_of_string_int", ("tacocat", "", 4), 4),
    ("string_index_of_string_int", ("tacocat", "t", 7), -1),
    ("string_last_index_of_string", ("", "a"), -1),
    ("string_last_index_of_string_int", ("aaa", "aa", 1), 1),
    ("string_last_index_of_string_int", ("aaa", "aa", 3), 1),
    ("string_last_index_of_string_int", ("tacocat", "", 4), 4),
    ("string_last_index_of_string_int", ("tacocat", "t", 7), 6),
    ("string_lower_ascii", ("\u00c6\u0130K",), "\u00c6\u0130k"),
    ("string_upper_ascii", ("stra\u00dfe\u0131",), "STRA\u00dfE\u0131"),
    ("string_replace_string_string_int", ("ab", "", "-", 2), "-a-b"),
    ("string_replace_string_string_int", ("", "", "-", 1), "-"),
    ("string_replace_string_string", ("aaa", "aa", "b"), "ba"),
    ("string_reverse", ("a\U0001f600b",), "b\U0001f600a"),
    ("string_split_string", ("", ","), [""]),
    ("string_split_string", ("", ""), []),
    ("string_split_string_int", ("abc", "", 2), ["a", "bc"]),
    ("string_split_string_int", ("abc", "", 9), ["a", "b", "c"]),
    ("string_split_string_int", ("a,b,", ",", 9), ["a", "b", ""]),
    ("string_substring_int_int", ("tacocat", 0, 7), "tacocat"),
    ("string_trim", (f"{WHITE}a{WHITE}b{WHITE}",), f"a{WHITE}b"),
    ("string_trim", ("\x1ca\u200b",), "\x1ca\u200b"),
    ("strings_quote", ("\a\b\f\n\r\t\v\\\"'\x00",), '"\\a\\b\\f\\n\\r\\t\\v\\\\\\"\'\x00"'),
    ("list_join_string", ([], "-"), ""),
    ("string_format", ("100%%", []), "100%"),
    ("string_format", ("%s", ["a", "left over"]), "a"),
    ("string_format", ("%s", ["%s"]), "%s"),
    ("string_format", ("%s %d", [1e21, 1e-7]), "1000000000000000000000 0.0000001"),
    ("string_format", ("%s %s %s", [-0.0, 2.0, 5e-324]), f"-0 2 0.{'0' * 323}5"),
    ("string_format", ("%f %.0f %.1e", [Uint(3), 2.5, -123456]), "3.000000 2 -1.2e+05"),
    ("string_format", ("%d %f %e", [NAN, INF, -INF]), "NaN Infinity -Infinity"),
    ("string_format", ("%x %X %o %b", [-30, "\u00e9", -8, LEAST]), f"-1e C3A9 -10 -1{'0' * 63}"),
    ("string_format", ("%.0003f", [1.5]), "1.500"),
    ("string_format", ("%.7s", ["unused"]), "unused"),
    ("string_format", ("%s", [{2: "b", 10: "a", BoolKey.TRUE: None}]), "{10: a, 2: b, true: null}"),
    ("string_format", ("%s", [[b"\xc3\xa9", [], {}, TypeValue("int")]]), "[\u00e9, [], {}, int]"),
    ("string_format", ("%s", [Timestamp(100_000_000)]), "1970-01-01T00:00:00.1Z"),
    ("string_format", ("%s %s", [Duration(-500_000_000), Duration(60 * 10**9)]), "-0.5s 60s"),
    ("math_@max_double_int", (1.0, 1), 1.0),
    ("math_@max_int_double", (1, 1.0), 1),
    ("math_@min_int_uint", (-1, Uint(2**64 - 1)), -1),
    ("math_@max_list_int", ([1, 2.5, Uint(2)],), 2.5),
    ("math_round_double", (0.49999999999999994,), 0.0),
    ("math_round_double", (-0.4,), -0.0),
    ("math_round_double", (-2.5,), -3.0),
    ("math_round_double", (4503599627370497.0,), 4503599627370497.0),
    ("math_ceil_double", (-0.5,), -0.0),
    ("math_floor_double", (-INF,), -INF),
    ("math_trunc_double", (NAN,), NAN),
    ("math_sign_double", (NAN,), NAN),
    ("math_sign_double", (-0.0,), 0.0),
    ("math_sign_uint", (Uint(7),), Uint(1)),
    ("math_abs_double", (-0.0,), 0.0),
    ("math_sqrt_int", (-1,), NAN),
    ("math_bitNot_uint_uint", (Uint(0),), Uint(2**64 - 1)),
    ("math_bitShiftLeft_int_int", (1, 63), LEAST),
    ("math_bitShiftLeft_int_int", (-1, 64), 0),
    ("math_bitShiftLeft_uint_int", (Uint(3), 63), Uint(2**63)),
    ("math_bitShiftRight_int_int", (-1, 0), -1),
    ("math_bitShiftRight_int_int", (-1, 63), 1),
    ("list_flatten", ([1, [2, [3]]],), [1, 2, [3]]),
    ("list_flatten_int", ([1, [2, [3, []]]], 2**62), [1, 2, 3]),
    ("list_string_sort", (["\U0001f600", "\uffff", "a"],), ["a", "\uffff", "\U0001f600"]),
    ("list_bool_sort", ([],), []),
    ("list_distinct", ([1, 1.0, True, "1", None, None, [1], [Uint(1)]],), [1, True, "1", None, [1]]),
    ("list_distinct", ([{"a": 1}, {"a": 1.0}, {"a": True}],), [{"a": 1}, {"a": True}]),
    ("list_distinct", ([2**63 - 1, 2**63 - 2, 2.0**63],), [2**63 - 1, 2**63 - 2]),
    ("list_first", ([None],), Optional(None)),
    ("list_last", ([],), ABSENT),
    ("lists_range", (0,), []),
    ("list_sets_contains_list", ([1, 2], []), True),
    ("list_sets_contains_list", ([NAN], [NAN]), False),
    ("list_sets_contains_list", ([[1, "a"]], [[1.0, "a"]]), True),
    ("list_sets_contains_list", ([True], [1]), False),
    ("list_sets_equivalent_list", ([], []), True),
    ("list_sets_intersects_list", ([[NAN]], [[NAN]]), False),
    ("regex_replace_string_string_string", ("baac", "a*", "-"), "-b-c-"),
    ("regex_replace_string_string_string", ("aaa", "^a", "b"), "baa"),
    ("regex_replace_string_string_string", ("\u00e9a", "(a)|(b)", r"[\0\1\2\\]"), "\u00e9[aa\\]"),
    ("regex_replace_string_string_string", ("z", "a", "\\"), "z"),
    ("regex_replace_string_string_string", ("a", "a", "$1"), "$1"),
    ("regex_replace_string_string_string_int", ("baac", "a*", "-", 2), "-b-c"),
    ("regex_extract_string_string", ("\U0001f600x", "x"), Optional("x")),
    ("regex_extract_string_string", ("ab", "a(z)?"), ABSENT),
    ("regex_extract_string_string", ("ab", ""), Optional("")),
    ("regex_extractAll_string_string", ("baac", "a*"), ["", "aa", ""]),
    ("regex_extractAll_string_string", ("ab", "(a)|b"), ["a"]),
    ("regex_extractAll_string_string", ("a a", r"\ba"), ["a", "a"]),
    ("base64_decode_string", ("YR==",), b"a"),
    ("base64_decode_string", ("YQ\r\n=\n=",), b"a"),
    ("base64_decode_string", ("",), b""),
    ("base64_encode_bytes", (b"\xff\xfe\x00",), "//4A"),
]

ERRORS: list[tuple[str, tuple[Any, ...], str]] = [
    ("string_char_at_int", ("tacocat", 8), "index out of range: 8"),
    ("string_char_at_int", ("tacocat", -1), "index out of range: -1"),
    ("string_index_of_string_int", ("", "", 1), "index out of range: 1"),
    ("string_last_index_of_string_int", ("tacocat", "a", -1), "index out of range: -1"),
    ("string_substring_int", ("tacocat", 8), "index out of range: 8"),
    ("string_substring_int_int", ("tacocat", 49, 50), "index out of range: 49"),
    ("string_substring_int_int", ("tacocat", 2, 1), "invalid substring range. start: 2, end: 1"),
    ("list_join", (["a", 1],), "no such overload: join of a list that holds a value of type int"),
    ("string_format", ("%d %d", [0]), "index 1 out of range"),
    ("string_format", ("%", [0]), "unexpected end of string"),
    ("string_format", ("%.", [0]), "could not parse formatting clause"),
    ("string_format", ("%.f", [0]), "could not parse formatting clause"),
    ("string_format", ("%.1001f", [0]), "precision 1001 exceeds maximum allowed precision 1000"),
    ("string_format", ("%E", [0.5]), 'could not parse formatting clause: unrecognized formatting clause "E"'),
    (
        "string_format",
        ("%d", [Duration(0)]),
        "error during formatting: decimal clause can only be used on integers, was given google.protobuf.Duration",
    ),
    ("string_format", ("%f", [True]), "was given bool"),
    ("string_format", ("%x", [1.5]), "only integers, byte buffers, and strings can be formatted as hex"),
    ("string_format", ("%o", [True]), "octal clause can only be used on integers, was given bool"),
    ("string_format", ("%b", ["a"]), "only integers and bools can be formatted as binary, was given string"),
    ("string_format", ("%s", [ABSENT]), "was given optional_type"),
    ("string_format", ("%s", [b"\xff"]), "bytes that are not UTF-8"),
    ("math_@max_list_int", ([],), "math.greatest(list) argument must not be empty"),
    ("math_@max_list_int", (["a"],), "no such overload"),
    ("math_@min_double_int", (NAN, 1), "NaN values cannot be ordered"),
    ("math_abs_int", (LEAST,), "integer overflow"),
    ("math_bitShiftLeft_int_int", (1, -1), "math.bitShiftLeft() negative offset: -1"),
    ("math_bitShiftRight_uint_int", (Uint(1), -1), "math.bitShiftRight() negative offset: -1"),
    ("list_slice", ([1], -1, 0), "negative indexes not supported"),
    ("list_slice", ([1], 1, 0), "start index must be less than or equal to end index"),
    ("list_slice", ([1], 0, 2), "cannot slice(0, 2), list is length 1"),
    ("list_flatten_int", ([1], -1), "level must be non-negative"),
    ("list_int_sort", ([None],), "list elements must be comparable"),
    ("list_int_sort", ([1, 1.0],), "list elements must have the same type"),
    ("list_double_sort", ([1.0, NAN],), "NaN values cannot be ordered"),
    ("lists_range", (MAX_SIZE + 1,), "exceeds maximum allowed (10000000)"),
    ("regex_replace_string_string_string", ("a", "a", r"\1"), "references group 1 but regex has only 0 group(s)"),
    ("regex_replace_string_string_string", ("a", "a", r"\x"), r"\ must be followed by a digit or \ "[:-1]),
    ("regex_replace_string_string_string", ("a", "a", "\\"), r"\ not allowed at end"),
    ("regex_extract_string_string", ("a", "(a)(b)"), "more than one capturing group"),
    ("regex_extractAll_string_string", ("a", "("), "invalid regular expression"),
    ("base64_decode_string", ("YQ=",), "illegal base64 data"),
    ("base64_decode_string", ("YWJj=",), "illegal base64 data"),
    ("base64_decode_string", ("Y Q==",), "illegal base64 data"),
    ("base64_decode_string", ("Y",), "illegal base64 data"),
]


@pytest.mark.parametrize("row", EXTENSIONS, ids=[row.id for row in EXTENSIONS])
def test_every_row_has_an_implementation(row: Overload) -> None:
    assert row.id in IMPLEMENTATIONS


@pytest.mark.parametrize(("overload", "args", "expected"), VALUES)
def test_value(overload: str, args: tuple[Any, ...], expected: Any) -> None:
    found = IMPLEMENTATIONS[overload](*args)
    if isinstance(expected, Optional):
        assert expected == found
    else:
        assert same(expected, found), found


@pytest.mark.parametrize(("overload", "args", "text"), ERRORS)
def test_error(overload: str, args: tuple[Any, ...], text: str) -> None:
    with pytest.raises(CelError) as raised:
        IMPLEMENTATIONS[overload](*args)
    assert text in str(raised.value)


def _doubled(levels: int) -> list[Any]:
    """A list of two lists, one and the same, of two lists, and so on: small in memory, long as text."""
    made: list[Any] = ["ab"]
    for _ in range(levels):
        made = [made, made]
    return made


MILLION = "a" * 1_000_000
TOO_LONG: dict[str, Callable[[], Any]] = {
    "replace": lambda: IMPLEMENTATIONS["string_replace_string_string"](MILLION, "", "0123456789"),
    "join": lambda: IMPLEMENTATIONS["list_join"]([MILLION] * 11),
    "join with a separator": lambda: IMPLEMENTATIONS["list_join_string"]([""] * 12, MILLION),
    "format": lambda: IMPLEMENTATIONS["string_format"]("%s" * 11, [MILLION] * 11),
    "format of a list": lambda: IMPLEMENTATIONS["string_format"]("%s", [_doubled(60)]),
    "regex.replace": lambda: IMPLEMENTATIONS["regex_replace_string_string_string"](MILLION, "a+", "\\0" * 11),
    "flatten": lambda: IMPLEMENTATIONS["list_flatten_int"](_doubled(60), 100),
}


@pytest.mark.parametrize("build", TOO_LONG.values(), ids=TOO_LONG.keys())
def test_what_is_built_is_bounded(build: Callable[[], Any]) -> None:
    with pytest.raises(CelError, match="more than 10,000,000"):
        build()


def test_a_long_list_is_compared_in_linear_time() -> None:
    items: list[Any] = list(range(200_000))
    assert IMPLEMENTATIONS["list_sets_contains_list"](items, items[::-1])
    assert len(IMPLEMENTATIONS["list_distinct"](items + items)) == 200_000


TEXTS = ("''", "'a'", "'\u00a9a\U0001f600'", "' \\ta '", "'aaa'")
LENGTHS = (0, 1, 3, 4, 3)
PARTS = ("''", "'a'", "'aa'", "'\U0001f600'")
NUMBERS = ("0", "-3", "3u", "0.5", "-0.5", "2.5", "1e308", "-1.0 / 0.0", "9223372036854775807", "9223372036854775807.0")
BESIDE_THE_ENGINE = [
    *(f"{t}.{f}()" for t in TEXTS for f in ("lowerAscii", "upperAscii", "reverse", "trim")),
    *(f"{t}.{f}({p})" for t in TEXTS for f in ("indexOf", "lastIndexOf", "split") for p in PARTS),
    *(f"{t}.{f}({p}, {i})" for t in TEXTS for f in ("indexOf", "lastIndexOf") for p in PARTS for i in range(-1, 5)),
    *(f"{t}.replace({p}, '-', {i})" for t in TEXTS for p in PARTS for i in (-1, 0, 1, 2, 9)),
    *(f"{t}.charAt({i})" for t in TEXTS for i in range(-1, 5)),
    *(f"{t}.substring({i}, {j})" for t in TEXTS for i in range(-1, 5) for j in range(-1, 5)),
    *(f"strings.quote({t})" for t in TEXTS),
    *(f"math.{f}({a})" for f in ("abs", "sign", "sqrt", "ceil", "floor", "round", "trunc") for a in NUMBERS),
    *(f"math.{f}({a}, {b})" for f in ("greatest", "least") for a in NUMBERS for b in NUMBERS),
    *(f"math.bitShift{d}({a}, {i})" for d in ("Left", "Right") for a in ("-3", "3u") for i in (-1, 0, 1, 63, 64)),
    *(f"'%{c}'.format([{a}])" for c in ("d", ".3f", "e", "b", "o", "x", "X") for a in ("-30", "3u", "true", "'a'")),
    *(f"'%{c}'.format([{a}])" for c in ("f", ".0f", ".2e", ".12f") for a in ("0.5", "-2.5", "1e300", "123456.789")),
    *(f"'%s'.format([{a}])" for a in ("null", "true", "1", "0.5", "'a'", "[1, 'a']", "{'b': 1, 'a': [null]}", "int")),
    *(f"base64.decode({t}) == b'a'" for t in ("'YQ=='", "'YQ'", "'YR'", "'YQ='", "'-_'", "'YQ\\n=='")),
]

FAULTS_OF_THE_ENGINE = {
    "''.split('')": "cel-go has no parts; the engine has an empty one",
    **{
        f"{t}.substring({i}, {length})": "the end of the text may be the end of a part (cel-spec, string_ext)"
        for t, length in zip(TEXTS, LENGTHS, strict=True)
        for i in range(length)
    },
}


def _plain(value: Any) -> Any:
    """A value of the engine as Python has it; an int for a uint."""
    if isinstance(value, cel.Value):
        value = value.value()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def test_beside_the_engine() -> None:
    engine = cel.NewEnv(extensions=[ext_strings.ExtStrings(), ext_math.ExtMath(), ext_encoders.ExtEncoders()])
    wrong = {}
    for text in BESIDE_THE_ENGINE:
        theirs = engine.compile(text, disable_check=True).eval(data={})
        expected = "error" if theirs.type().name() == "ERROR" else _plain(theirs.value())
        expr, _ = parse(Source(text))
        assert expr is not None
        try:
            found = evaluate(expr, {})
        except CelError:
            found = "error"
        if isinstance(found, Uint):
            found = int(found)
        if not same(expected, found):
            wrong[text] = (expected, found)
    assert {text: pair for text, pair in wrong.items() if text not in FAULTS_OF_THE_ENGINE} == {}
    assert FAULTS_OF_THE_ENGINE.keys() - wrong.keys() == set()
