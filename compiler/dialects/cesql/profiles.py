"""Whose meaning of CloudEvents SQL a filter has, where the specification and Knative's library differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """One meaning.

    `wraps`: arithmetic beyond 32 bits begins again at the other end, where else it is an error. `counts_bytes`: LENGTH is
    of the text in UTF-8, where else it counts characters. `stops_in_sets`: IN looks no further than the first value that
    is equal, where else an error in any value is one. `stops_at_position_0`: SUBSTRING at 0 asks no more of its length.
    """

    name: str
    wraps: bool
    counts_bytes: bool
    stops_in_sets: bool
    stops_at_position_0: bool


SPECIFICATION = Profile("sql", wraps=False, counts_bytes=False, stops_in_sets=False, stops_at_position_0=False)
"""CloudEvents SQL 1.0 as it is specified."""
KNATIVE = Profile("cesql", wraps=True, counts_bytes=True, stops_in_sets=True, stops_at_position_0=True)
"""What brokers of Knative do, whose library is CloudEvents' SDK for Go."""
