"""The codes of dialects and manifests: 3xx."""

from __future__ import annotations

from .code import Code

DIALECT_AND_MANIFEST = {
    "TRI301": Code(
        "error",
        "not YAML",
        "The text is neither YAML nor JSON, or a value given from Python is not one that JSON can hold. "
        "Reading stops at the first such place.",
    ),
    "TRI302": Code(
        "error",
        "duplicate key",
        "A mapping has the same key twice. YAML readers silently keep one of the two, and not all the same one.",
    ),
    "TRI303": Code(
        "error",
        "key that is not a string",
        "Kubernetes objects have string keys only. YAML reads an unquoted number, true, on or y as something "
        "else; quotes make it a string.",
    ),
    "TRI304": Code(
        "error",
        "YAML feature not supported",
        "Tags, merge keys and aliases without a complete anchor are refused: what they stand for depends on "
        "who reads them.",
    ),
    "TRI305": Code(
        "error",
        "text too large",
        "The text is too long, nested too deeply, or grows too far through its aliases. The limits keep a "
        "small file from taking all memory.",
    ),
    "TRI306": Code(
        "error",
        "not UTF-8",
        "A manifest is text in UTF-8, and this file has a byte that is none: a file in another encoding, or a damaged one. "
        "Nothing of it is read, since a value with a replaced character would be compared with events.",
    ),
    "TRI307": Code(
        "warning",
        "link that is not followed",
        "A symbolic link in a folder of manifests leads back to a folder above it, to itself, or nowhere. Each file is "
        "read once, and nothing is read through this link.",
    ),
    "TRI308": Code(
        "error",
        "field that cannot stand here",
        "There is no such field. An API server drops it without a word, and a misspelt 'filter' that is dropped delivers "
        "every event; a field that a CloudEvents subscription has not is refused as well. Directly in the spec of a Knative Trigger a name that resembles no known one, and holds nothing like "
        "a filter, is a warning (TRI312) instead: a newer Knative may have it.",
    ),
    "TRI309": Code(
        "error",
        "field in the wrong place",
        "The field exists, and stands elsewhere in a Trigger: often one indented too far, or too little. Where it is, "
        "nothing reads it; a filter that nothing reads delivers every event.",
    ),
    "TRI310": Code("error", "wrong kind of value", "A field holds a string where a mapping is wanted, or the like."),
    "TRI311": Code("error", "missing field", "A field that every Trigger must have is absent or empty."),
    "TRI312": Code(
        "warning",
        "unknown field",
        "The Knative that is known here has no such field. It resembles no known one and holds nothing like a filter, so "
        "it may be a field of a newer Knative. tricel does not read it.",
    ),
    "TRI313": Code(
        "error",
        "fields that exclude each other",
        "Two fields say the same thing in two ways, or a field is not allowed with the Knative features that are on.",
    ),
    "TRI314": Code(
        "error",
        "invalid value",
        "The field has a value that Knative's webhook refuses: a duration that is not ISO 8601, an unknown "
        "policy, a relative URI without a reference.",
    ),
    "TRI315": Code("error", "invalid annotation", "An annotation that Knative reads has a value that it refuses."),
    "TRI316": Code(
        "error",
        "duplicate trigger",
        "Two manifests that are read together define a Trigger of the same namespace and name; a cluster "
        "would keep the last.",
    ),
    "TRI317": Code("error", "immutable field", "The broker of a Trigger cannot be changed once the Trigger exists."),
    "TRI318": Code(
        "error",
        "unsupported version",
        "The Trigger is of an API version whose meaning is not known here. Supported are "
        "eventing.knative.dev/v1, tricel.dev/v1alpha1 and, deprecated, eventing.knative.dev/v1beta1.",
    ),
    "TRI319": Code(
        "warning",
        "deprecated version",
        "eventing.knative.dev/v1beta1 is read like v1, whose filter it shares. Current clusters serve v1 only.",
    ),
    "TRI330": Code(
        "error",
        "several filter forms",
        "A Trigger takes one filter: 'filter' with one form, or 'filters'; and each item of 'filters' has one"
        " dialect. Knative lets a non-empty 'filters' silently override 'filter'.",
    ),
    "TRI331": Code(
        "error",
        "unknown filter form",
        "There is no filter form or dialect of this name here. Knative drops it, which delivers every event.",
    ),
    "TRI332": Code(
        "error",
        "empty filter",
        "The filter says nothing: no dialect, no attribute, no operand, or an empty value. Knative skips such"
        " a filter, which delivers every event, also under 'not'.",
    ),
    "TRI333": Code(
        "error",
        "invalid attribute name",
        "Knative takes attribute names of lower-case letters and digits that begin with a letter. "
        "'filter.attributes' also takes such names joined by dots. CloudEvents itself, and so a filter of its Subscriptions "
        "API, takes names that begin with a digit.",
    ),
    "TRI334": Code(
        "warning",
        "long attribute name",
        "CloudEvents advises names of at most 20 characters; producers and brokers may refuse longer ones.",
    ),
    "TRI335": Code(
        "error",
        "data is not an attribute",
        "CloudEvents reserves 'data' for the payload, so no attribute has this name. An expression can test "
        "the payload.",
    ),
    "TRI336": Code(
        "error",
        "attribute value not a string",
        'Attributes are compared in their text form, so a filter gives strings: prio: "5" matches the integer 5.',
    ),
    "TRI337": Code(
        "error",
        "not a time",
        "The attribute 'time' is compared as an instant, so its value must be an RFC 3339 time with a zone.",
    ),
    "TRI338": Code(
        "error",
        "test that the attribute does not allow",
        "For Knative 'time' is an instant and 'datamediatype' is derived from 'datacontenttype'; neither has a prefix or "
        "a suffix, and a media type has no parameters. In a label selector 'time' has no value.",
    ),
    "TRI339": Code(
        "warning",
        "deprecated filter form",
        "'sourceAndType' was replaced by 'attributes', which takes the same entries and any other attribute.",
    ),
    "TRI340": Code(
        "warning",
        "old attribute name",
        "The attribute was renamed in CloudEvents 1.0. Knative still knows the old name; other readers do not.",
    ),
    "TRI341": Code(
        "warning",
        "contradictory filter",
        "Filters that must all hold ask one attribute for two different values, so no event is delivered.",
    ),
    "TRI342": Code(
        "error",
        "not a glob",
        "'match' is a macro, not a function: its pattern is read at compile time and must be one string "
        "literal. '*' is any run of characters, '?' is one.",
    ),
    "TRI344": Code(
        "warning",
        "field that a Knative cluster drops",
        "Knative's definition of a Trigger does not name the field, so an API server drops it before anything sees it. "
        "A filter without its expression delivers every event. tricel itself reads the field in files. Use "
        "'apiVersion: tricel.dev/v1alpha1', whose definition has it, or the annotation 'tricel.dev/expression'.",
    ),
    "TRI345": Code(
        "error",
        "field that a Knative cluster drops",
        "As TRI344, where the manifests are meant for Knative (--target knative).",
    ),
    "TRI346": Code(
        "warning",
        "annotation that a Knative broker ignores",
        "The annotation 'tricel.dev/expression' narrows what tricel delivers. A Knative broker does not read it, and "
        "delivers every event that passes the Trigger's own filters.",
    ),
    "TRI347": Code(
        "error",
        "filter that a cluster has dropped",
        "The Trigger's filter is empty, and the manifest that kubectl applied has one that Knative's definition does not "
        "name: the API server has dropped it. The Trigger would deliver every event.",
    ),
    "TRI348": Code(
        "warning",
        "nearly a Trigger",
        "The object is skipped, since its kind and apiVersion are not those of a Trigger, and it looks like one. "
        "Kubernetes takes both letter by letter.",
    ),
    "TRI349": Code(
        "error",
        "not a label selector",
        "The text or the object is not a label selector of Kubernetes: requirements such as `a=b`, `a in (b, c)`, `a` and "
        "`!a`, joined by commas; or `matchLabels` and `matchExpressions`, or such a text as `selector`, beside the `path` of a map in "
        "the payload, which begins with `data`.",
    ),
    "TRI350": Code(
        "error",
        "not a label",
        "Kubernetes has no label with such a key or value, so the selector is refused. A name and a value have at most 63 "
        "letters, digits and '-', '_', '.', and begin and end with a letter or digit; a prefix before '/' is a DNS name. "
        "What is compared by '<' and '>' is a whole number of 64 bits.",
    ),
    "TRI351": Code(
        "error",
        "form that this version of the language does not have",
        "The form was deprecated, and the version of the language that the Trigger names has it no more.",
    ),
    "TRI355": Code(
        "warning",
        "part of a selector that is null",
        "A part of a label selector that is null is taken for one that is absent, as Kubernetes does. A selector without "
        "parts selects every event, which a template that renders to nothing hardly means.",
    ),
    "TRI360": Code(
        "error",
        "not CloudEvents SQL",
        "The text is not an expression of CloudEvents SQL 1.0, whose grammar is published with its specification. A sign "
        "before a digit belongs to the number, and numbers are of 32 bits.",
    ),
    "TRI361": Code(
        "error",
        "function that CloudEvents SQL does not have",
        "CloudEvents SQL has no function of this name, or it takes another number of arguments. On an event the call "
        "would be an error, so nothing would pass.",
    ),
    "TRI362": Code(
        "error",
        "not a condition",
        "The expression is a number or a text. By the specification an event then does not pass; one of Knative's "
        "brokers takes it for true or false, and another fails. Attributes are texts.",
    ),
    "TRI363": Code(
        "warning",
        "AND, OR and XOR without parentheses",
        "In CloudEvents SQL the three have one precedence. By the published grammar the rightmost is evaluated first: "
        "`a AND b OR c` is `a AND (b OR c)`, where SQL has `(a AND b) OR c`.",
    ),
    "TRI364": Code(
        "warning",
        "NOT of the left operand alone",
        "NOT binds tighter than comparisons, LIKE and IN: `NOT type = 'x'` compares the opposite of `type` with 'x'. "
        "It is seldom meant, and mostly an error on every event.",
    ),
    "TRI365": Code(
        "warning",
        "always an error",
        "The part errs whatever the event is: a text that is no number where a number is needed, or a division by 0. "
        "Where it is evaluated the event does not pass.",
    ),
    "TRI366": Code(
        "warning",
        "letters beyond ASCII keep their case",
        "LOWER and UPPER of an attribute change the letters A to Z alone, since CEL maps no others. A text with other "
        "letters may compare otherwise than in an engine that maps them all.",
    ),
    "TRI367": Code(
        "warning",
        "two quotes inside a string",
        "SQL writes a quote in a string as two. In CloudEvents SQL they stay two; one is written with a backslash.",
    ),
    "TRI371": Code(
        "error",
        "part that a dialect cannot say",
        "A filter is written in another dialect only where that has the same value on every event, and errs "
        "on the same ones. The part that is pointed at has no such form there. An attribute that may be absent is one "
        'reason: without it `ce.subject == "x"` is an error, and `subject: x` under `attributes` is false.',
    ),
    "TRI372": Code(
        "error",
        "filter that is not rewritten in place",
        "The manifest has the filter in a way that cannot be changed without changing something else: an anchor that "
        "is used elsewhere, an explicit key, a comment that would be lost. Write the filter out plainly, and convert again.",
    ),
    "TRI373": Code(
        "error",
        "form that a Trigger cannot hold",
        "Knative's definition of a Trigger names `filter.attributes` and `filters`, and an API server drops what it does "
        "not name: an expression there would leave a Trigger that delivers every event.",
    ),
    "TRI374": Code(
        "error",
        "no union",
        "A union of filters that lacks one would lose the events that this one wants. While a Trigger cannot be read or "
        "its filter is wrong, its broker has none.",
    ),
    "TRI380": Code(
        "error",
        "not rule SQL",
        "The text is no check of EMQX's rule SQL: `SELECT fields [WHERE condition]`. Strings stand in single quotes and "
        "have no escapes, names that are no plain words in double quotes, and comparisons do not follow each other.",
    ),
    "TRI381": Code(
        "error",
        "FROM or FOREACH in a check",
        "A check is asked of each message of the validation's topics, so EMQX refuses a FROM clause and FOREACH in it "
        "(`non_empty_from_clause`, `foreach_not_allowed`).",
    ),
    "TRI382": Code(
        "error",
        "function of rule SQL that is not known",
        "Rule SQL has no function of this name, none that is translated, or it takes another number of arguments. In "
        "EMQX the call would raise, and the check would fail for every message.",
    ),
    "TRI383": Code(
        "error",
        "part of rule SQL without an exact CEL",
        "What is pointed at has no expression in CEL that is true for the same messages. It is refused, for a check that "
        "passes other messages is worse than none.",
    ),
    "TRI384": Code(
        "warning",
        "check that raises or never passes",
        "In EMQX a path alone is no condition, and `NOT IN`, NOT of AND, OR, NOT or IN raise. What raises fails the "
        "check, whatever the message is.",
    ),
    "TRI385": Code(
        "warning",
        "column that a message does not have",
        "A name that is no column is undefined, and an undefined value compares false. The literals `true` and `false` "
        "are written in lower case: `TRUE` is a name.",
    ),
    "TRI386": Code(
        "warning",
        "letters beyond ASCII",
        "EMQX changes the case of all letters, counts what a reader sees as one character, and matches patterns by bytes. "
        "CEL changes A to Z, and counts and matches code points. Texts of ASCII are the same to both.",
    ),
    "TRI387": Code(
        "warning",
        "comparison of two types",
        "EMQX reads the text of a number, and writes truth values as texts, to compare values of two types; IN coerces "
        "nothing. The dialect `rule-sql` lets such a comparison fail the check, `rule-sql-compat` coerces.",
    ),
    "TRI388": Code(
        "error",
        "value that is another one each time",
        "The clock, a random number or a fresh id is not of the message. The same message would pass once and fail again.",
    ),
    "TRI389": Code(
        "error",
        "question whether a column is missing",
        "CEL errs where a column is missing, and a check that errs has failed. That is exact unless a missing column "
        "lets the check pass, as under NOT, or with is_null.",
    ),
    "TRI390": Code(
        "error",
        "not HOCON",
        "The text is not HOCON, by its specification or as EMQX reads it. Reading goes on behind the field or element "
        "that is wrong.",
    ),
    "TRI391": Code(
        "error",
        "text from elsewhere",
        "The document includes another one, or names a value that it does not have itself. No file, URL or environment "
        "variable is read: what a configuration says is what its own text says.",
    ),
    "TRI392": Code(
        "error",
        "substitution that leads back to itself",
        "The value of a substitution is made of that substitution, so it has none. One that names its own key stands for "
        "what the key had before, and there must be such a value.",
    ),
    "TRI393": Code(
        "warning",
        "HOCON that is read in two ways",
        "EMQX and the specification of HOCON take the text otherwise: EMQX passes over line breaks and spaces between "
        "values, and the specification does not. What both can read is taken as the specification has it, and what one "
        "refuses as the other has it. An optional substitution without a value counts as well: the environment may have one.",
    ),
    "TRI394": Code(
        "error",
        "wrong option of a validation",
        "A message validation lacks an option, or the option has a value that EMQX does not take either.",
    ),
    "TRI395": Code(
        "error",
        "unknown option of a validation",
        "A message validation, or a check of this type, has no such option.",
    ),
    "TRI396": Code(
        "error",
        "written twice in a validation",
        "Two validations have one name, a validation has a topic filter twice, or it checks one schema twice.",
    ),
    "TRI397": Code(
        "error",
        "check that is not evaluated",
        "EMQX has checks of this kind, and tricel does not evaluate them: the outcome is no function of the message.",
    ),
    "TRI398": Code(
        "warning",
        "option out of use",
        "The document that proposed message validation names the option so. EMQX was released with another name for it.",
    ),
    "TRI399": Code(
        "warning",
        "comment that says the opposite of its SQL",
        "A message passes a check where its WHERE holds. The comment, or the description, calls the messages invalid for "
        "which the same comparison holds, so the one or the other is the wrong way round.",
    ),
}
