"""The encoders extension: base64 of RFC 4648, section 4 (cel-go `ext.Encoders`)."""

from __future__ import annotations

from ..celtypes import BYTES, STRING
from .model import ERROR, Difference, Overload, Size, Steps

ENCODERS_EXT = (
    Overload(
        "base64_decode_string",
        "base64.decode",
        (STRING,),
        BYTES,
        "The bytes that the base64 text stands for; the padding may be left out.",
        (
            ("base64.decode('aGVsbG8=') == b'hello'", True),
            ("base64.decode('aGVsbG8') == b'hello'", True),
            ("base64.decode('a-b_') == b''", ERROR),
        ),
        size=Size.RECASED,
        steps=Steps.TEXT_MADE,
        cel_expr=(Difference("it decodes text that is not base64"),),
    ),
    Overload(
        "base64_encode_bytes",
        "base64.encode",
        (BYTES,),
        STRING,
        "The bytes as base64 text, padded.",
        (("base64.encode(b'hello')", "aGVsbG8="),),
        size=Size.DOUBLED,
        steps=Steps.TEXT_MADE,
        cel_expr=(),
    ),
)
