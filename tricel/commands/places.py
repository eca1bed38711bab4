"""The options of `run` about places: what rows are, which of them are read, and how Kafka is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from tricel.spark_backend.places.options import TOPIC_FROM, KafkaOptions, PlaceOptions, Rate
from tricel.spark_backend.places.place import KAFKA, PATH, parse_place

from .options import chosen_environment, chosen_schemas, environment_options, repeatable

_Command = TypeVar("_Command", bound=Callable[..., Any])


def settings(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """Texts `K=V` as a mapping; a later one takes the place of an earlier."""
    found = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise click.UsageError(f"{option} {text!r} is not K=V")
        found[name.strip()] = value
    return found


def is_other(out: str) -> bool:
    """Whether what is written goes to another place than a folder.

    Raises RunError for what is no place.
    """
    return parse_place(out).kind != PATH


def is_kafka(out: str) -> bool:
    """Whether what is written goes to topics of Kafka.

    Raises RunError for what is no place.
    """
    return parse_place(out).kind == KAFKA


def place_options(command: _Command) -> _Command:
    """The options about places."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return environment_options(command)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--encoding",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="How rows, lines or documents hold CloudEvents.",
    ),
    click.option(
        "--where",
        metavar="SQL",
        default="",
        help="Read only the rows on which an SQL condition on the source's columns is true; what is malformed is always kept.",
    ),
    repeatable("--conf", "conf", metavar="K=V", help="A setting of Spark"),
    click.option("--kafka-bootstrap", metavar="HOST:PORT", default="", help="The brokers of kafka:TOPIC."),
    repeatable("--kafka-option", "kafka_option", metavar="K=V", help="An option of Spark's Kafka source and sink"),
    click.option(
        "--kafka-config", metavar="FILE", default="", help="Properties of Kafka clients, such as security.protocol."
    ),
    click.option(
        "--topic-from",
        type=click.Choice(TOPIC_FROM),
        default=None,
        help="With --out kafka: alone: what names the topic of a delivery.",
    ),
    click.option(
        "--dead-letters", metavar="kafka:TOPIC", default="", help="The topic for what is malformed and what errs."
    ),
    click.option(
        "--max-records-per-batch",
        type=click.IntRange(1),
        metavar="N",
        help="With --stream: records of Kafka in a batch.",
    ),
)


def chosen_places(options: Mapping[str, Any]) -> PlaceOptions:
    """What the options say about places."""
    from tricel.spark_backend.events.encodings import DEFAULT_ENCODING, ENCODINGS

    known = [row.name for row in ENCODINGS]
    if options["encoding"] not in known:
        raise click.UsageError(f"--encoding {options['encoding']!r} is not known; the encodings are {', '.join(known)}")
    environment = chosen_environment(options["environment"], options["decodings"])
    if not environment.record and options["encoding"] != DEFAULT_ENCODING:
        raise click.UsageError("--encoding is of CloudEvents: leave it out with this --environment")
    return PlaceOptions(
        environment=environment,
        schemas=chosen_schemas(options["decodings"]),
        encoding=options["encoding"],
        where=options["where"],
        rate=Rate(options["max_files_per_batch"], options["max_bytes_per_batch"], options["max_records_per_batch"]),
        kafka=KafkaOptions(
            bootstrap=options["kafka_bootstrap"],
            options=settings("--kafka-option", options["kafka_option"]),
            config=options["kafka_config"],
            topic_from=options["topic_from"] or "",
            dead_letters=options["dead_letters"],
            of_spark=settings("--conf", options["conf"]).get("spark.kafka.bootstrap.servers", ""),
        ),
    )
