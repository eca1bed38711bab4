"""Why a text is no CloudEvent, in words: every reader gives these and no others (CloudEvents 1.0.2)."""

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
NOT_AVRO = "not readable as a CloudEvent in Avro"
NOT_PROTOBUF = "not readable as a CloudEvent in Protobuf"
UNKNOWN_FIELD = "a field that CloudEvents in Protobuf do not have"
TRAILING = "bytes follow the event"
TOO_DEEP = "the data is nested too deep"
TOO_LARGE = "the data is larger than 15,000,000 bytes"
NO_BYTES = "no bytes"
NOT_JSON_BATCH = "not a JSON array of events"
NAMED_DATA = "an attribute is named 'data'"
NAMED_TWICE = "an attribute, or a member of the data, is given twice"
NOT_JSON_NUMBER = "the data holds a number that JSON does not have"
EXTENSION_TIME = "an extension attribute is a time outside of the years 1 to 9999"
NOT_CAPTURE = "not a capture of an HTTP message: it has no headers that can be read"
NOT_BODY = "the body of the HTTP message is not base64"
NOT_PERCENT = "a header is not percent-encoded UTF-8"
HTTP_HEADER_TWICE = "a header of an attribute is there twice"
MEDIA_TYPE_TWICE = "both a 'Content-Type' and a 'ce-datacontenttype'"
UNKNOWN_FORMAT = "the content type is of an event format that is not known"
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
    NOT_AVRO,
    NOT_PROTOBUF,
    UNKNOWN_FIELD,
    TRAILING,
    TOO_DEEP,
    TOO_LARGE,
    NO_BYTES,
    NOT_JSON_BATCH,
    NAMED_DATA,
    NAMED_TWICE,
    NOT_JSON_NUMBER,
    EXTENSION_TIME,
    NOT_CAPTURE,
    NOT_BODY,
    NOT_PERCENT,
    HTTP_HEADER_TWICE,
    MEDIA_TYPE_TWICE,
    UNKNOWN_FORMAT,
    NO_EVENT,
    NO_VALUE,
    UNREAD_FORMAT,
    NOT_BATCH,
    HEADER_TWICE,
    HEADER_NOT_UTF8,
    HEADER_OF_DATA,
)
"""Every reason there is."""
