"""A filter that is given by itself, as text or as data, with its positions."""

from __future__ import annotations

from ..diagnostics import Diagnostic
from ..documents.document import Document, Place, Scalar, read_documents, root
from ..documents.objects import from_python
from ..source import NOWHERE, Source, Span
from .model import Dialect

Read = tuple[Place | None, tuple[Diagnostic, ...]]


def written(value: object, label: str = "<filter>", path: str = "") -> Place | None:
    """A text, or the JSON text of data, with its positions; None where it is no JSON."""
    return text_place(Source(value, label), path) if isinstance(value, str) else data_place(value, label, path)[0]


def text_place(source: Source, path: str = "") -> Place:
    """A whole text as one value."""
    span = Span(0, len(source.text))
    return Place(Scalar(source.text, source.text, span), source, path, span)


def data_place(value: object, label: str, path: str = "") -> Read:
    """Data with its positions in its own JSON text."""
    document, found = from_python(value, label)
    return (None if document is None else _placed(document, path)), found


def place_of(dialect: Dialect, filter_: object, label: str) -> Read:
    """A filter of a dialect. Of a dialect whose filters are no texts of their own, a text is YAML or JSON."""
    if not isinstance(filter_, str):
        return data_place(filter_, label, dialect.name)
    source = Source(filter_, label)
    return (text_place(source, dialect.name), ()) if dialect.text else yaml_place(source, dialect.name)


def yaml_place(source: Source, path: str) -> Read:
    """The one document of a YAML or JSON text."""
    documents, found = read_documents(source)
    if found:
        return None, found
    if len(documents) > 1:
        message = f"one document is read, and the text has {len(documents)}"
        return None, (Diagnostic("TRI301", message, source, NOWHERE, "give one filter"),)
    document = documents[0] if documents else Document(Scalar(None, "", NOWHERE), source)
    return _placed(document, path), document.diagnostics


def _placed(document: Document, path: str) -> Place:
    place = root(document)
    return Place(place.value, place.source, path, place.at)
