"""The encoders extension: base64 (RFC 4648, section 4)."""

from __future__ import annotations

from ..sql import Sql, text_literal
from .registry import lowers

_END_OF_LINE = text_literal("\r\n")
_ENCODED = text_literal(r"\A[A-Za-z0-9+/]*+={0,2}+\z")


@lowers("base64_encode_bytes", depth=2)
def _encode(x: Sql) -> str:
    """A setting of the session makes Spark write the text in lines."""
    return f"replace(base64({x.text}), {_END_OF_LINE}, '')"


@lowers("base64_decode_string", twice=(0,), depth=6)
def _decode(x: Sql) -> str:
    """Spark passes over what is not base64: that is checked, and that the padding is what it must be, or left out."""
    joined = f"translate({x.text}, {_END_OF_LINE}, '')"
    length = f"char_length({joined}) % 4"
    whole = f"CASE WHEN endswith({joined}, '=') THEN {length} = 0 ELSE {length} <> 1 END"
    return f"CASE WHEN rlike({joined}, {_ENCODED}) AND {whole} THEN unbase64({joined}) END"
