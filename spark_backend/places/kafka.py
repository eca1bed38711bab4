"""Topics of Kafka as a source and as a sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ..failure import RunError
from .model import EventSource, Sink
from .names import topics_of
from .options import PlaceOptions
from .place import Place, Use


def check(places: Sequence[Place], options: PlaceOptions, use: Use) -> None:
    """Raises RunError (TRI613, TRI612) for what is plain before Spark starts."""
    for place in places:
        topics_of(place)
    _refuse(places[0])


def source(places: Sequence[Place], options: PlaceOptions) -> EventSource:
    """The records of topics."""
    _refuse(places[0])


def sink(place: Place, options: PlaceOptions) -> Sink:
    """The topics that pairs are produced to."""
    _refuse(place)


def _refuse(place: Place) -> NoReturn:
    raise RunError("TRI612", "this release has no connector to Kafka", place.text, "give files or a table")
