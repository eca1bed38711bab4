"""Every diagnostic code: severity, title and explanation. Codes are never renumbered or reused.

1xx syntax, 2xx names and types, 3xx dialect and manifest (`manifest_codes.py`), 4xx Spark lowering, 5xx admission, 6xx events,
9xx faults of our own.
"""

from __future__ import annotations

from .code import Code
from .manifest_codes import DIALECT_AND_MANIFEST

SYNTAX = {
    "TRI101": Code("error", "syntax error", "The text is not a CEL expression."),
    "TRI102": Code("error", "expression too large", "The text, its nesting or its number of parts is over a limit."),
    "TRI103": Code("error", "not a literal", "A number is out of range, or a string holds an escape that CEL lacks."),
    "TRI104": Code(
        "error", "macro used wrongly", "has() takes a field selection; all() and its like a variable first."
    ),
}

NAMES_AND_TYPES = {
    "TRI201": Code("error", "unknown name", "The name is none of the roots that a filter may use."),
    "TRI202": Code("error", "unknown field", "The value has no such field, or no fields at all."),
    "TRI203": Code("error", "unknown function", "CEL has no function of this name, or it is called in another way."),
    "TRI204": Code(
        "error",
        "no matching overload",
        "The function or operator does not take arguments of these types. CEL converts nothing by itself: int, uint "
        "and double are three types, and the numbers of a JSON payload are double.",
    ),
    "TRI205": Code("error", "message construction", "A filter compares values; it makes no protobuf messages."),
    "TRI207": Code("error", "not a bool", "A filter delivers or not, so its result must be a bool."),
    "TRI208": Code("error", "not a pattern", "The pattern of `matches` is not one that RE2 accepts."),
    "TRI209": Code(
        "error",
        "extension used in two ways",
        "An extension attribute is text, or, when selected into, the JSON object in its text. One filter uses it as one.",
    ),
    "TRI210": Code(
        "error",
        "filter too costly",
        "An estimate of the filter's work for one event, from the sizes that events are taken to have at most, is over "
        "the limit. Comprehensions in one another multiply, and text that is joined again and again doubles.",
    ),
    "TRI211": Code(
        "error",
        "attribute that no event has",
        "CloudEvents spells the names of its attributes in lower case, and names are matched case by case. A table's "
        "column that spells one of them otherwise is to be renamed.",
    ),
    "TRI212": Code(
        "error",
        "constant that cannot be evaluated",
        "The constant is an error for every event, and nothing else can make the filter true: an error is no match.",
    ),
    "TRI213": Code(
        "error",
        "not of this version of the language",
        "The apiVersion of a Trigger names a version of the language that is frozen. The function or macro is of a later "
        "version, which a Trigger names by 'languageVersion' in its spec, or by the annotation "
        "'tricel.dev/language-version'.",
    ),
    "TRI214": Code(
        "error",
        "not a topic filter",
        "In a topic filter of MQTT `+` and `#` are levels of their own, and `#` is the last one.",
    ),
    "TRI250": Code(
        "warning",
        "comparison that never holds",
        "Values of these types are never equal in CEL, so the comparison has the same outcome for every event.",
    ),
    "TRI251": Code(
        "warning",
        "unsatisfiable",
        "What must hold together can hold for no event, so the filter, or this part of it, never matches.",
    ),
    "TRI252": Code(
        "warning",
        "always true",
        "One of the alternatives holds for every event, so the filter, or this part of it, tests nothing.",
    ),
    "TRI253": Code(
        "warning",
        "redundant term",
        "Another term says the same or more, so that the outcome is the same without this one, errors included.",
    ),
    "TRI254": Code(
        "warning",
        "not a name of CloudEvents",
        "CloudEvents names attributes with lower-case letters and digits, and its readers refuse other names. Only a "
        "column of a table, or a key of a map in one, can have such a name.",
    ),
    "TRI255": Code(
        "warning",
        "name like that of another attribute",
        "Every name that is not one of CloudEvents' own is an extension's, and absent where no event has it. This one is "
        "nearly the name of an attribute that CloudEvents or Knative documents, or is what that was called before.",
    ),
    "TRI256": Code(
        "warning",
        "selection into an extension",
        "Extensions are attributes like any other, beside the payload, which is 'data'. What is selected from an "
        "attribute is read from the JSON in its text, and hardly any event has an extension of this name.",
    ),
    "TRI257": Code(
        "warning",
        "constant that is an error",
        "The constant is an error for every event. The rest of the filter can absorb the error or leave the constant "
        "unevaluated, so that events may match all the same.",
    ),
}

LOWERING = {
    "TRI401": Code("error", "cannot run", "Neither Spark nor the fallback engine can evaluate the expression."),
    "TRI402": Code(
        "warning",
        "lowering failed",
        "A fault of tricel, not of the filter: turning this part of it into SQL ended in an exception. It is evaluated "
        "row by row instead, with the same result. Please report it with the filter. With TRICEL_FAULTS=raise in the "
        "environment the command ends with the traceback.",
    ),
}

ADMISSION = {
    "TRI501": Code(
        "error",
        "not a Trigger",
        "The object that a cluster asks about is not one Trigger of a version that is known here. It is refused, since "
        "what cannot be read cannot be checked.",
    ),
    "TRI502": Code(
        "error",
        "review not finished",
        "The review of the Trigger took longer than the webhook allows. It is refused; a smaller filter is quicker.",
    ),
    "TRI503": Code(
        "warning",
        "wrong as before",
        "The Trigger is wrong, and was so before this update, which leaves its spec as it was: a label that is set, or a "
        "finalizer that goes. It is not refused for what it did not change. Mend the spec; tricel lint shows all of it.",
    ),
    "TRI550": Code(
        "warning",
        "not native on Spark",
        "Spark SQL cannot say this part of the filter exactly, so it is evaluated row by row, which is much slower.",
    ),
}

EVENTS = {
    "TRI601": Code(
        "error",
        "no events to read",
        "A path does not exist, holds no file of a known format, or holds a table that is not one of events.",
    ),
    "TRI602": Code(
        "error",
        "output in use",
        "The output directory, or a stream's checkpoint, holds something already, or cannot be written to; or two triggers "
        "have one name.",
    ),
    "TRI603": Code("error", "evaluation error", "A filter cannot be evaluated on an event, and errors end this run."),
    "TRI604": Code("error", "no usable Java", "Spark 4 needs Java 17 or later, which was not found."),
    "TRI605": Code(
        "warning",
        "files left out",
        "Files below the given paths are not read: their names tell no format, or are hidden (they or a folder above "
        "them begin with '_' or '.'), which Spark passes over.",
    ),
    "TRI606": Code(
        "error",
        "a run that cannot go on",
        "Something that a run needs is not there: Spark's master or its Java process, a file system, its triggers, space "
        "for what it writes; for a stream also a classic Spark session, a port. A batch run leaves nothing half-written, "
        "and begins anew. A batch of a stream that was not committed is not counted, and the same command goes on with it.",
    ),
    "TRI607": Code(
        "warning",
        "no triggers",
        "The manifests hold no Trigger, so that nothing can be delivered. Objects of other kinds are skipped, and so are "
        "files that are not called .yaml, .yml or .json.",
    ),
    "TRI608": Code(
        "error",
        "column not there",
        "A filter reads an attribute that every CloudEvent has, or a root such as data, and the events have no column "
        "for it. The filter would err on every event. docs/layouts.md says which columns hold what.",
    ),
    "TRI609": Code(
        "warning",
        "attribute that no event has",
        "A filter reads an optional attribute or an extension, and the events have neither a column of that name nor a "
        "map that may hold it. has() of it is false on every event, and reading it is an error.",
    ),
    "TRI610": Code(
        "warning",
        "link to what is read already",
        "A link below the given paths leads to files that are read by another way, such as to a folder that it is in. "
        "Each file is read once.",
    ),
    "TRI611": Code(
        "error",
        "no place for events",
        "A place is a path or a URI of a file system that Spark can reach, table:NAME for a table of the session's catalog, "
        "kafka:TOPIC, or delta:PATH. A run reads places of one kind.",
    ),
    "TRI612": Code(
        "error",
        "no connector",
        "Spark itself neither reads nor writes this kind of place, and the session has no connector that does, or one that "
        "was made for another release of Spark and does not load.",
    ),
    "TRI613": Code(
        "error",
        "not a name",
        "What follows table: or kafka: is empty, or is not a name of a table or of a topic. A topic of Kafka has at most 249 "
        "of the signs a-z, A-Z, 0-9, '.', '_' and '-', and is not called '.' or '..'.",
    ),
    "TRI614": Code(
        "error",
        "table that cannot be added to",
        "The table that deliveries go to has no column for one of theirs, or one of another type; or it holds a part of a "
        "batch, and its format cannot remove rows. The batch is not counted.",
    ),
    "TRI615": Code(
        "error",
        "no condition",
        "Spark does not take the SQL of --where: it cannot be parsed, or names a column that the source does not have.",
    ),
    "TRI616": Code(
        "error",
        "no way to Kafka",
        "No broker is named or can be reached, none answers, or they take no records. The batch is not counted.",
    ),
    "TRI617": Code(
        "error",
        "option of Kafka that is not taken",
        "An option of Spark's Kafka source or sink, or of Kafka's clients, is set by tricel itself; or the file of "
        "properties cannot be read.",
    ),
    "TRI618": Code("error", "no such topic", "The brokers have no topic of that name, or show none to this user."),
    "TRI619": Code(
        "error",
        "no topic for a delivery",
        "Deliveries go to one topic, or to topics that are called as their triggers or subscribers, and no topic can be "
        "called so; dead letters go to one topic.",
    ),
    "TRI620": Code(
        "error",
        "no column with encoded events",
        "An encoding reads rows with a column 'value' that holds the bytes or the text of an event; captures of HTTP may "
        "have the columns 'headers' and 'body' instead. docs/sources.md says what each encoding reads.",
    ),
    "TRI621": Code(
        "error",
        "column of encoded events of another type",
        "Encoded events are BINARY or STRING, and the headers of a capture are texts. The column is of another type, and a "
        "conversion would be a guess.",
    ),
    "TRI624": Code(
        "error",
        "no schema of a payload",
        "What --decode says of a payload is not complete, or its file is no Avro schema or FileDescriptorSet that can be read.",
    ),
    "TRI625": Code(
        "error",
        "a schema that CEL has no types for",
        "A part of a payload's schema has no exact type in CEL: it holds itself, is of one of several types, is null in a "
        "list or map, or is a decimal of more digits than a double tells apart.",
    ),
    "TRI626": Code(
        "error",
        "no such message",
        "The FileDescriptorSet of a payload's schema has no message of the name after '#'.",
    ),
    "TRI627": Code(
        "error",
        "payloads that are not read by a schema",
        "Spark before 4.1 has no Arrow functions, which read payloads by a schema, or a package for it is not installed.",
    ),
}

FAULTS = {
    "TRI901": Code(
        "error",
        "internal error",
        "A fault of tricel, not of the filter: reading, checking or running it ended in an exception, so nothing is known "
        "of it, and it is refused. The exit status of a command is 2. Please report it with the filter. With "
        "TRICEL_FAULTS=raise in the environment the command ends with the traceback.",
    ),
}

CODES: dict[str, Code] = {
    **SYNTAX,
    **NAMES_AND_TYPES,
    **DIALECT_AND_MANIFEST,
    **LOWERING,
    **ADMISSION,
    **EVENTS,
    **FAULTS,
}
