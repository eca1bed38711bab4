"""Lines of text and what each is to a reader of CloudEvents: a reason why it is none, or columns that it gives."""

from __future__ import annotations

from tricel.compiler.values import malformed as ev

CORE = '"specversion":"1.0","id":"1","source":"s","type":"t"'


def event(more: str = "") -> str:
    """A small event with further members."""
    return "{" + CORE + (f",{more}" if more else "") + "}"


def deep(levels: int, start: str = "[", end: str = "]") -> str:
    """JSON nested so many levels."""
    return start * levels + "1" + end * levels


# Text of one line, and what it is: a reason, or the columns that it must give (data as JSON text).
LINES: list[tuple[str, str | dict[str, object]]] = [
    (event(), {"id": "1", "source": "s", "type": "t", "specversion": "1.0", "subject": None, "data": None}),
    (f"  {event()} \t", {"id": "1"}),
    (event('"subject":null,"data":null,"ext":null'), {"subject": None, "data": None, "extensions": {}}),
    (event('"subject":"","datacontenttype":"a/b","dataschema":"x"'), {"subject": "", "datacontenttype": "a/b"}),
    # texts that are no event
    ("{", ev.NOT_JSON),
    ("x", ev.NOT_JSON),
    (event() + " x", ev.NOT_JSON),
    (event() + event(), ev.NOT_JSON),
    (event() + ",1", ev.NOT_JSON),
    (event() + "]", ev.NOT_JSON),
    (event() + '],["x"', ev.NOT_JSON),
    (event('"id":"2"'), ev.NOT_JSON),
    (event('"data":{"a":1,"a":2}'), ev.NOT_JSON),
    (event('"data":NaN'), ev.NOT_JSON),
    (event('"data":01'), ev.NOT_JSON),
    (event('"data":"\\ud800"'), ev.NOT_JSON),
    (event('"data":' + "1" * 1001), ev.NOT_JSON),
    (event('"data":' + deep(997)), {"data": deep(997)}),
    (event('"data":' + deep(1000)), ev.NOT_JSON),
    ("5", ev.NOT_OBJECT),
    ("null", ev.NOT_OBJECT),
    ('"{}"', ev.NOT_OBJECT),
    (f"[{event()}]", ev.NOT_OBJECT),
    # required attributes
    ("{}", "'specversion' is missing"),
    ('{"specversion":"1.0"}', "'id' is missing"),
    ('{"specversion":"1.0","id":null}', "'id' is missing"),
    ('{"specversion":"1.0","id":"1","source":"s"}', "'type' is missing"),
    ('{"specversion":"1.0","id":1}', "'id' is not a string"),
    ('{"specversion":"1.0","id":{}}', "'id' is not a string"),
    ('{"specversion":"1.0","id":""}', "'id' is empty"),
    ('{"specversion":"1.0","id":"1","source":""}', "'source' is empty"),
    ('{"specversion":1.0}', "'specversion' is not a string"),
    ('{"specversion":"0.3","id":"1","source":"s","type":"t"}', ev.NOT_VERSION),
    ('{"SpecVersion":"1.0","id":"1","source":"s","type":"t"}', "'specversion' is missing"),
    (event('"subject":5'), "'subject' is not a string"),
    (event('"datacontenttype":true'), "'datacontenttype' is not a string"),
    (event('"dataschema":[]'), "'dataschema' is not a string"),
    (event('"time":1583020800'), "'time' is not a string"),
    # extension attributes
    (event('"a":"x","b1":true,"c":false,"d":-7'), {"extensions": {"a": "x", "b1": "true", "c": "false", "d": "-7"}}),
    (event('"a":"","b":-0,"c":2147483647'), {"extensions": {"a": "", "b": "0", "c": "2147483647"}}),
    (event('"github.repository":"r","0":"zero"'), {"extensions": {"github.repository": "r", "0": "zero"}}),
    (event('"o":{"b":[1, null]}'), {"extensions": {"o": '{"b":[1,null]}'}}),
    (event('"n":2147483648'), ev.EXTENSION_NUMBER),
    (event('"n":99999999999999999999'), ev.EXTENSION_NUMBER),
    (event('"n":1.5'), ev.EXTENSION_NUMBER),
    (event('"n":5.0'), ev.EXTENSION_NUMBER),
    (event('"n":1e3'), ev.EXTENSION_NUMBER),
    (event('"n":[1]'), ev.EXTENSION_ARRAY),
    (event('"Name":"x"'), ev.EXTENSION_NAME),
    (event('"a_b":"x"'), ev.EXTENSION_NAME),
    (event('"":"x"'), ev.EXTENSION_NAME),
    (event('"é":"x"'), ev.EXTENSION_NAME),
    # data
    (event('"data":{"a":[1,2.5,"x",null,true]}'), {"data": '{"a":[1,2.5,"x",null,true]}'}),
    (event('"datacontenttype":"text/xml","data":"<a/>"'), {"data": '"<a/>"'}),
    (event('"data":""'), {"data": '""'}),
    (event('"data_base64":"eyJhIjoxfQ=="'), {"data": '{"a":1}'}),
    (event('"data_base64":"eyJhIjoxfQ==","datacontenttype":"Application/X+JSON; charset=utf-8"'), {"data": '{"a":1}'}),
    (event('"data_base64":"eyJhIjoxfQ==","datacontenttype":"a/jsonx"'), {"data": b'{"a":1}'}),
    (event('"data_base64":"bnVsbA=="'), {"data": "null"}),
    (event('"data_base64":"eyJhIjoxfSB4"'), {"data": b'{"a":1} x'}),
    (event('"data_base64":"AAH/"'), {"data": b"\x00\x01\xff"}),
    (event('"data_base64":""'), {"data": b""}),
    (event('"data_base64":null,"data":1'), {"data": "1"}),
    (event('"data":1,"data_base64":"AAE="'), ev.TWO_DATA),
    (event('"data_base64":"AAE"'), ev.NOT_BASE64),
    (event('"data_base64":"A A="'), ev.NOT_BASE64),
    (event('"data_base64":"AA-_"'), ev.NOT_BASE64),
    (event('"data_base64":5'), ev.NOT_BASE64),
]

TIMES: list[tuple[str, str | None]] = [
    ("2020-03-01T00:00:00Z", "2020-03-01T00:00:00"),
    ("2020-03-01t00:00:00z", "2020-03-01T00:00:00"),
    ("2020-03-01T00:00:00.5+05:45", "2020-02-29T18:15:00.500000"),
    ("2020-03-01T00:00:00.123456789-23:59", "2020-03-01T23:59:00.123456"),
    ("2020-03-01T00:00:00-00:00", "2020-03-01T00:00:00"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00"),
    ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999"),
    ("1582-10-10T00:00:00Z", "1582-10-10T00:00:00"),
    *(
        (text, None)
        for text in (
            "",
            "2020-03-01",
            "2020-03-01T00:00:00",
            "2020-03-01 00:00:00Z",
            " 2020-03-01T00:00:00Z",
            "2020-03-01T00:00:00Z\\n",
            "2020-03-01T00:00Z",
            "2020-03-01T00:00:00+24:00",
            "2020-03-01T00:00:00+0545",
            "2020-03-01T00:00:00.Z",
            "2020-03-01T00:00:00.1234567890Z",
            "2020-02-30T00:00:00Z",
            "2020-03-01T24:00:00Z",
            "2020-12-31T23:59:60Z",
            "0000-12-31T23:59:59Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "+2020-03-01T00:00:00Z",
            "\\u0662020-03-01T00:00:00Z",
        )
    ),
]

CASES = [
    *LINES,
    *((event(f'"time":"{text}"'), ev.NOT_TIME if instant is None else {"time": instant}) for text, instant in TIMES),
]
