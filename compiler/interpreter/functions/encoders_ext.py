"""The encoders extension: base64 of RFC 4648, section 4 (cel-go `ext.Encoders`)."""

from __future__ import annotations

import base64
import re

from ...values.cel import CelError
from ..registry import implements


@implements("base64_encode_bytes")
def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_ENCODED = re.compile(r"((?:[A-Za-z0-9+/]{4})*)([A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?|)")
"""Groups of four, then what is left over, padded or not."""


@implements("base64_decode_string")
def _decode(text: str) -> bytes:
    # Ends of lines count for nothing, wherever they are.
    joined = text.replace("\r", "").replace("\n", "")
    if not _ENCODED.fullmatch(joined):
        raise CelError("illegal base64 data")
    return base64.b64decode(joined.rstrip("=") + "==")
