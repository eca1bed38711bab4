"""Why a text is no CloudEvent, in words: every reader gives these and no others (CloudEvents 1.0.2, JSON format)."""

from __future__ import annotations

NOT_UTF8 = "not UTF-8"
NOT_JSON = "not readable as JSON"
NOT_OBJECT = "not a JSON object"
CORRUPT = "the file is damaged: what follows the lines read from it is lost"
DAMAGED_TABLE = "the file cannot be read as Parquet: none of its rows is taken"
NO_EVENTS = "the file is a table without a column 'id', 'source' or 'type'"
UNFIT_TABLE = "the file is a table with a column of a name that a run writes itself, or with two columns of one name"
NOT_TIME = "'time' is not an RFC 3339 timestamp"
EXTENSION_NAME = "an extension attribute's name has other characters than a-z and 0-9"
EXTENSION_ARRAY = "an extension attribute is an array"
EXTENSION_NUMBER = "an extension attribute is a number that is not a 32-bit integer"
TWO_DATA = "both 'data' and 'data_base64'"
NOT_BASE64 = "'data_base64' is not base64"
NOT_VERSION = "'specversion' is not '1.0'"
NO_EVENT = "no CloudEvent: neither a header 'ce_...' nor a content-type of one"
NO_VALUE = "no CloudEvent: a tombstone, without headers of one"
UNREAD_FORMAT = "a CloudEvent in an event format that is not read here"
NOT_BATCH = "not a JSON array, and the content-type says a batch"
HEADER_TWICE = "a header 'ce_...' or 'content-type' is there more than once"
HEADER_NOT_UTF8 = "a header 'ce_...' or 'content-type' is not UTF-8"
HEADER_OF_DATA = "a header 'ce_data' or 'ce_data_base64', which is no attribute"

REQUIRED = ("specversion", "id", "source", "type")
"""The context attributes that every event has, in the order in which they are looked at."""
OPTIONAL = ("subject", "datacontenttype", "dataschema", "time")
"""The other context attributes of the specification, in the order in which they are looked at."""


def missing(name: str) -> str:
    """A required attribute is absent or null."""
    return f"'{name}' is missing"


def not_string(name: str) -> str:
    """A context attribute has a JSON value of another kind."""
    return f"'{name}' is not a string"


def empty(name: str) -> str:
    """A required attribute is the empty string."""
    return f"'{name}' is empty"


REASONS: tuple[str, ...] = (
    NOT_UTF8,
    NOT_JSON,
    NOT_OBJECT,
    CORRUPT,
    DAMAGED_TABLE,
    NO_EVENTS,
    UNFIT_TABLE,
    *(fault(name) for name in REQUIRED for fault in (missing, not_string, empty)),
    NOT_VERSION,
    *map(not_string, OPTIONAL),
    NOT_TIME,
    EXTENSION_NAME,
    EXTENSION_ARRAY,
    EXTENSION_NUMBER,
    TWO_DATA,
    NOT_BASE64,
    NO_EVENT,
    NO_VALUE,
    UNREAD_FORMAT,
    NOT_BATCH,
    HEADER_TWICE,
    HEADER_NOT_UTF8,
    HEADER_OF_DATA,
)
"""Every reason there is."""
