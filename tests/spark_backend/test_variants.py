"""VARIANT values read from their bytes: what JSON has, exactly, in every width that offsets and numbers have."""

from __future__ import annotations

import datetime
import json
import struct

import pytest
from pyspark.sql.variant_utils import VariantUtils
from tricel.compiler.values.variants import ARRAY, UnreadableError, decoded

DOCUMENTS = {
    "scalars": [None, True, False, "", "é", "\0", "x" * 63, "x" * 64, 0, -1, 127, 128, -32768, 2**31, -(2**63)],
    "numbers": [1.5, -0.0, 1e-7, 1e300, 12.34, 0.1, -99999999.99, 123456789012345678.9, 2**53 + 1],
    "empty": [{}, []],
    "an object": {"b": 1, "a": {"c": [1, {"d": None}]}, "": "no name", "Ω": 2},
    "300 fields": {f"k{i}": i for i in range(300)},
    "70,000 fields": {f"k{i}": i for i in range(70_000)},
    "300 elements": list(range(300)),
    "70,000 bytes": ["x" * 300] * 300,
    "12 million bytes": ["x" * 60_000] * 200,
    "nested": [[[[[[[[[[1]]]]]]]]]],
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json(name: str) -> None:
    text = json.dumps(DOCUMENTS[name])
    value, metadata = VariantUtils.parse_json(text)
    found, nul = decoded(value, metadata)
    assert nul == ("\\u0000" in text)
    assert repr(json.loads(text, parse_int=float)).replace("-0.0", "0.0") in (
        repr(found),
        repr(_sorted_as(found, text)),
    )


def _sorted_as(found: object, text: str) -> object:
    """A VARIANT's fields are sorted by name; here they are in the order of the text."""
    expected = json.loads(text, parse_int=float)
    if isinstance(found, dict) and isinstance(expected, dict):
        return {k: _sorted_as(found[k], json.dumps(v)) for k, v in expected.items()}
    if isinstance(found, list) and len(found) < 10:
        return [_sorted_as(a, json.dumps(b)) for a, b in zip(found, expected, strict=True)]
    return found


def primitive(kind: int, content: bytes) -> object:
    """A value of a primitive type by its number."""
    return decoded(bytes([kind << 2]) + content, b"\x01\x00\x00")[0]


def test_what_json_does_not_have() -> None:
    assert primitive(14, struct.pack("<f", 0.1)) == 0.10000000149011612
    assert primitive(15, b"\x02\x00\x00\x00\x00a") == b"\0a"
    digits = 12345678901234567890123456789123456789
    assert (
        primitive(10, bytes([9]) + digits.to_bytes(16, "little", signed=True))
        == 1.2345678901234567890123456789123456789e28
    )
    days = (datetime.date(2024, 1, 2) - datetime.date(1970, 1, 1)).days
    for kind, content in ((11, struct.pack("<i", days)), (12, bytes(8)), (13, bytes(8)), (20, bytes(16))):
        with pytest.raises(UnreadableError):
            primitive(kind, content)


@pytest.mark.parametrize(
    "value", ["29616263", "400a000000616263", "4003", "3c0a000000616263", "28000102", "2800", "020100", "030100"]
)
def test_values_cut_short_are_no_values(value: str) -> None:
    with pytest.raises((ValueError, IndexError, struct.error)):
        decoded(bytes.fromhex(value), b"\x01\x00\x00")
    with pytest.raises((ValueError, IndexError, struct.error)):
        decoded(b"\x00", b"\x01\x01\x00\x05abc")


@pytest.mark.parametrize("cut", [1, 3, 7, 12])
def test_bytes_that_are_no_variant_do_not_pass_for_one(cut: int) -> None:
    value, metadata = VariantUtils.parse_json('{"a": 1.5, "b": [12345678, "c"]}')
    with pytest.raises((ValueError, IndexError, struct.error)):
        decoded(value[:cut], metadata)


@pytest.mark.parametrize("last", ['"text"', "12.5", "{}", '["c"]'])
def test_an_object_cut_short_anywhere_is_no_value(last: str) -> None:
    value, metadata = VariantUtils.parse_json(f'{{"a": "é", "b": {last}}}')
    assert decoded(value, metadata) == ({"a": "é", "b": json.loads(last)}, False)
    for cut in range(len(value)):
        with pytest.raises((ValueError, IndexError, struct.error)):
            decoded(value[:cut], metadata)


def test_a_value_that_holds_itself_again_and_again_is_refused_at_once() -> None:
    """Two places of a list may lead to the same bytes, so that a few of them stand for more than memory holds."""
    value, (_, metadata) = b"\0", VariantUtils.parse_json("[]")
    for _ in range(200):
        value = bytes([ARRAY, 2, 0, 0, 0]) + value
    with pytest.raises(UnreadableError, match="more than once"):
        decoded(value, metadata)
