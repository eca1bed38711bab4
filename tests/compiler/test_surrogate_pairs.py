"""Characters beyond U+FFFF in manifests, as JSON escapes them: two halves are one, and one half is none."""

from __future__ import annotations

import json

import pytest
from tricel.compiler.documents.document import plain, read_documents
from tricel.compiler.manifests.trigger import read_manifests
from tricel.compiler.source import Source

# What stands between double quotes in a manifest, and what it is.
PAIRS = [
    (r"\ud83d\ude00", "\U0001f600"),
    (r"\uD83D\uDE00-\udbFF\udfff \\ud83d\\ude00 \\\uD800\uDC00", "\U0001f600-\U0010ffff \\ud83d\\ude00 \\\U00010000"),
    ("\\ud83d\\ude00 \ue000\\ue101\\U0000e2ff", "\U0001f600 \ue000\ue101\ue2ff"),
]


@pytest.mark.parametrize(("written", "read"), PAIRS, ids=range(len(PAIRS)))
def test_a_pair_of_surrogate_escapes_is_one_character(written: str, read: str) -> None:
    """As JSON has it; where YAML has no escapes, it is the text that it looks like."""
    text = f'{{"a": ["{written}"], "{written}": {{}}}}\n---\na: |\n  {written}\nb: \'{written}\'\nc: {written} # {written}\n'
    documents, problems = read_documents(Source(text))
    assert () == problems + sum((d.diagnostics for d in documents), ())
    assert [{"a": [read], read: {}}, {"a": written + "\n", "b": written, "c": written}] == [
        plain(d.value) for d in documents
    ]


@pytest.mark.parametrize(
    ("written", "half"),
    [(r"x\ud83d", r"\ud83d"), (r"\\\ud83d\ude00\uDE00.", r"\uDE00"), (r"\ud83d\\\ude00", r"\ud83d")],
)
def test_half_a_pair_is_an_error_with_its_place(written: str, half: str) -> None:
    text = f'{{"before": "\\ud83d\\ude00",\n "a": "{written}"}}'
    (document,), problems = read_documents(Source(text))
    (found,) = problems + document.diagnostics
    assert ("TRI301", f"a lone surrogate is not a character: '{half}'") == (found.code, found.message)
    assert half == text[found.span.start : found.span.end]
    assert 2 == found.source.position(found.span.start).line


def test_halves_that_cannot_be_masked_are_refused() -> None:
    """A text with a character of every block of 256."""
    everything = "".join(chr(block << 8 | 0x50) for block in range(0x30, 0xF9) if not 0xD8 <= block < 0xE0)
    (found,) = read_documents(Source(f'{{"a": "\\ud83d\\ude00", "b": "{everything}"}}'))[1]
    assert "TRI301" == found.code


def test_the_filter_of_a_manifest_in_ascii_is_that_of_the_manifest() -> None:
    value = {
        "apiVersion": "eventing.knative.dev/v1",
        "kind": "Trigger",
        "metadata": {"name": "smiles"},
        "spec": {
            "broker": "default",
            "filters": [{"exact": {"subject": "caf\u00e9 \U0001f600"}}],
            "subscriber": {"uri": "http://s"},
        },
    }
    in_ascii, as_it_is = (read_manifests(Source(json.dumps(value, ensure_ascii=a)))[0][0] for a in (True, False))
    assert as_it_is.translation.expr == in_ascii.translation.expr
    assert in_ascii.translation.expr is not None
