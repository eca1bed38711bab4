"""What folders are called for names that no folder can have."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st
from tricel.spark_backend.storage.folders import Folders, folder_value


@given(st.text(max_size=400), st.text(max_size=400))
@example("a" * 247, "a" * 248)
@example("é" * 400, "é" * 399)
@example("%" * 247, "%" * 248)
@example("", "~" + hashlib.sha256(b"").hexdigest()[:32])
def test_folders_have_names_that_are_short_and_of_one_value(a: str, b: str) -> None:
    names = [folder_value("trigger", value) for value in (a, b)]
    for value, name in zip((a, b), names, strict=True):
        assert 0 < len(quote(f"trigger={name}", safe="=", errors="surrogatepass")) <= 255
        assert value == Folders.of({"trigger": [value]}).values("trigger").get(name, name)
    assert (a == b) == (names[0] == names[1])
