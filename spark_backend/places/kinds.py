"""The kinds of places: one row each, with how a place is checked before Spark starts, its source and its sink."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..failure import RunError
from . import delta, files, kafka, names, paths, tables
from .connectors import DELTA_CONNECTOR, KAFKA_CONNECTOR, Connector
from .model import EventSource, Sink
from .options import PlaceOptions
from .place import DELTA, KAFKA, PATH, TABLE, Place, Use, parse_place


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of place.

    `check` raises RunError for what is plainly wrong before Spark starts. `connector` is what Spark itself lacks for it.
    """

    name: str
    check: Callable[[Sequence[Place], PlaceOptions, Use], None]
    source: Callable[[Sequence[Place], PlaceOptions], EventSource]
    sink: Callable[[Place, PlaceOptions], Sink]
    connector: Connector | None = None


KINDS = {
    row.name: row
    for row in (
        Kind(PATH, paths.check, files.source, files.sink),
        Kind(TABLE, names.check_tables, tables.source, tables.sink),
        Kind(KAFKA, kafka.check, kafka.source, kafka.sink, KAFKA_CONNECTOR),
        Kind(DELTA, delta.check, delta.source, delta.sink, DELTA_CONNECTOR),
    )
}


def check_source(texts: Sequence[str | os.PathLike[str]], options: PlaceOptions, *, stream: bool = False) -> None:
    """Raises RunError where it is plain, before Spark starts, that no events can be read from the places together."""
    places = _alike(texts)
    KINDS[places[0].kind].check(places, options, Use.STREAM if stream else Use.READ)


def check_sink(text: str | os.PathLike[str], options: PlaceOptions) -> None:
    """Raises RunError where it is plain, before Spark starts, that nothing can be written to the place."""
    place = parse_place(text)
    KINDS[place.kind].check([place], options, Use.WRITE)


def source_of(texts: Sequence[str | os.PathLike[str]], options: PlaceOptions) -> EventSource:
    """The source that a command line names.

    Raises RunError (TRI611, TRI613) for what is no place, and for places of several kinds.
    """
    places = _alike(texts)
    return KINDS[places[0].kind].source(places, options)


def sink_of(text: str | os.PathLike[str], options: PlaceOptions) -> Sink:
    """The sink that a command line names.

    Raises RunError (TRI611, TRI613) for what is no place.
    """
    place = parse_place(text)
    return KINDS[place.kind].sink(place, options)


def connectors_of(texts: Sequence[str | os.PathLike[str]]) -> tuple[Connector, ...]:
    """What Spark needs for the places and does not have itself, each once."""
    rows = (KINDS[parse_place(text).kind].connector for text in texts)
    return tuple(dict.fromkeys(row for row in rows if row is not None))


def _alike(texts: Sequence[str | os.PathLike[str]]) -> list[Place]:
    places = [parse_place(text) for text in texts]
    other = next((p for p in places if p.kind != places[0].kind), None)
    if other is not None:
        message = "a run reads places of one kind"
        raise RunError("TRI611", message, other.text, f"read it apart from '{places[0].text}'")
    return places
