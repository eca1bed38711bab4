"""The encoders extension: base64 (RFC 4648, section 4)."""

from __future__ import annotations

from .. import Sql, Typed, case, equal, function, integer, unequal, when
from .registry import lowers

_END_OF_LINE = "\r\n"
_ENCODED = r"\A[A-Za-z0-9+/]*+={0,2}+\z"


@lowers("base64_encode_bytes")
def _encode(x: Typed) -> Sql:
    """A setting of the session makes Spark write the text in lines."""
    return function("replace", function("base64", x), _END_OF_LINE, "")


@lowers("base64_decode_string", twice=(0,))
def _decode(x: Typed) -> Sql:
    """Spark passes over what is not base64: that is checked, and that the padding is what it must be, or left out."""
    joined = function("translate", x, _END_OF_LINE, "")
    length = function("char_length", joined) % integer(4)
    is_padded = function("endswith", joined, "=")
    whole = case((is_padded, equal(length, integer(0))), otherwise=unequal(length, integer(1)))
    return when(function("rlike", joined, _ENCODED) & whole, function("unbase64", joined))
