"""Why an expression has no native form: reasons with stable codes, and the exception that carries one."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason: its code, and its text, with a place for each detail."""

    UNSIGNED = "unsigned", "Spark has no unsigned 64-bit integer"
    OPTIONAL = "optional", "an optional has no form in SQL; only fields and ends of lists are read without making one"
    SHORTEST_DOUBLE = "shortest-double", "Java before 19 does not always find a double's shortest text, which is CEL's"
    JAVA_PATTERN = "java-pattern", "Spark's pattern functions run on Java's regular expressions, which are not RE2's"
    JAVA_REPLACEMENT = (
        "java-replacement",
        "Spark's pattern functions run on Java's regular expressions, which are not RE2's, and replacements "
        "are written with $",
    )
    FORMAT = "format", "format_string() has other clauses, and writes numbers, times, lists and maps otherwise"
    QUOTE = "quote", "Spark has no function that writes a text as a CEL literal"
    NO_LOWERING = "no-lowering", "the function '{}' has no lowering"
    INT_KEYS = "int-keys", "of a list it makes a map whose keys are ints, and Spark's objects have texts alone"
    COMPUTED_KEYS = (
        "computed-keys",
        "keys are computed: Spark ends the query where one comes twice, which is an error here",
    )
    LOST_BY_TRAVEL = "lost-by-travel", "{}, and '{}' would have to travel whole"
    DEEP_SHAPE = "deep-shape", "SQL that is nested too deeply"
    ODD_ITEM = "odd-item", "a value of type '{}' in a list of another type"
    COPIES = "copies", "a list that holds one value more than once, and is gone over or has a name"
    ADDED_TO_ITSELF = "added-to-itself", "a list that is added to itself in a macro, and is gone over or has a name"
    GROWTH = "growth", "what it makes may be more than {} times as large as the data"
    UNBOUNDED = "unbounded", "a value that '{}' makes may be of any size"
    COMPUTED_REPLACEMENT = "computed-replacement", "in a macro, a text with parts replaced by what is computed"
    TURNS = "turns", "macros over lists written in the filter take more than {:,} turns"
    CHOSEN = (
        "chosen",
        "each turn of a macro chooses what another goes over, and is not said to be a part of one element",
    )
    ELEMENTS_APART = (
        "elements-apart",
        "what a macro goes over, or names, is made of elements of several that are not in one another",
    )
    NAMED_OF_ONE_ANOTHER = "named-of-one-another", "a macro names values that are made of one another"
    ONE_NAME = "one-name", "a macro gives one name to several values"
    LAMBDAS = "lambdas", "more lambdas than the JVM compiles in one method"
    NESTED_LAMBDAS = "nested-lambdas", "more lambdas in one another than Spark's analyzer takes"
    COLUMN_TYPE = "column-type", "a column of type {}"
    NESTED = "nested", "nested deeper than Spark's parser takes"
    LENGTH = "length", "longer than a million characters of SQL"
    LIMITED_REPLACEMENT = "limited-replacement", "a limited replacement of a text that may be empty"
    COMPUTED_LIMIT = "computed-limit", "a limit that is computed"
    UNNAMEABLE = "unnameable", "a computed name among attributes that Spark cannot name"
    COLUMN_KEY = "column-key", "a key of type '{}' in a column of type '{}'"
    COMPUTED_KEY = "computed-key", "a computed key of a value of type '{}'"
    MADE_MAP_KEY = "made-map-key", "a key of type '{}' in a map made in the filter"
    COLUMN_RESULTS = "column-results", "the two results have different columns' types"
    NO_OVERLOAD = "no-overload", "the columns' types fit no overload"
    UNCHECKED = "unchecked", "a call that was not checked"
    MACRO = "macro", "the macro '{}'"
    UNORDERED = "unordered", "values of type '{}' are not put in order"
    KEYS_IN_ONE_ANOTHER = (
        "keys-in-one-another",
        "macros in one another with the indexes or keys of what may be lists or objects",
    )
    AMONG_OTHERS = "among-others", "'{}' among values of other types"
    LIST_AND_OTHER = "list-and-other", "a list and a value of type '{}'"
    MAP_KEYS = "map-keys", "a map whose keys are not different strings"
    LISTS_BESIDE_ERRORS = (
        "lists-beside-errors",
        "a list within a list made in the filter, beside values that may be errors",
    )
    COMPARED_WHOLE = "compared-whole", "columns' maps or structs are compared whole"
    EQUALITY = "equality", "equality of '{}' and '{}'"
    VARIANT_BYTES = "variant-bytes", "a VARIANT may hold bytes, which are not read from it"
    DYN = "dyn", "a value of type dyn"
    MAP_AND_COLUMNS = "map-and-columns", "a map written in the filter, and columns"
    NOT_TRANSITIVE = (
        "not-transitive",
        "ints are compared with ints and with doubles: equality of the three is not transitive",
    )
    VALUES_COMPARED_WHOLE = "values-compared-whole", "values of type '{}' are compared whole"
    SET = "set", "a set made of a value of type '{}'"
    NO_NUMBERS = "no-numbers", "the greatest or least of what are no numbers"
    INT_OR_DOUBLE = (
        "int-or-double",
        "a number that is an int for one event and a double for another, which no column is",
    )
    EXTREME_OF_MAP = "extreme-of-map", "a map is given to {}()"
    EXTREME_OF = "extreme-of", "{}() of a value of type '{}'"
    COMPUTED_LEVELS = "computed-levels", "flattened by a number of levels that is computed"
    LEVELS = "levels", "flattened by more than {} levels"
    UNORDERED_OR_WHOLE = "unordered-or-whole", "values of type '{}' are not put in order, or compared whole"
    RANGE = "range", "over {:,} ints, or so many that neither the filter nor a size bounds them"
    MAPPED = "mapped", "more than {} optMap() of the end of a list"
    LIST = "list", "a list made of a value of type '{}'"
    REVERSED = "reversed", "a value of type '{}' reversed"
    POSITION = "position", "a position whose type is known only at evaluation"
    LONG_DURATION = "long-duration", "a duration over 292 years, which CEL's engines cut short in arithmetic"
    COMPUTED_ZONE = "computed-zone", "a time zone that is computed"
    FIELDS_OF = "fields-of", "the fields of a value of type '{}'"
    NAMED_ZONE = "named-zone", "a time zone by its name: Java's table of zones and the engine's may differ"
    JOINED = "joined", "texts joined from a value of type '{}'"
    COMPUTED_PATTERN = "computed-pattern", "a pattern that is computed"
    MATCHES_ON = "matches-on", "matches on a value of type '{}'"
    PATTERN = "pattern", "no Java pattern is known to match alike: {}"
    REFUSED_PATTERN = "refused-pattern", "RE2 refuses the pattern: {}"
    MEMBERSHIP = "membership", "membership in a value of type '{}'"
    IN_A_LIST = "in-a-list", "in a list, {}"
    RANGE_OF = "range-of", "a comprehension over a value of type '{}'"
    MAP_KEY_TYPE = "map-key-type", "a map's keys of type '{}' are no keys in CEL"
    BYTES_OR_NULL = "bytes-or-null", "'{}' is bytes or null, which have no type in common"
    OTHER_TYPE = "other-type", "'{}' is a {} column, to be read as '{}'"
    SUBSTITUTED = "substituted", "a field's name that Spark would substitute"
    NO_FIELD = "no-field", "a field that the columns do not have: '{}'"
    FIELD_OF = "field-of", "a field of a value of type '{}'"
    HAS_ON = "has-on", "has() on a value of type '{}'"
    NO_ATTRIBUTES = "no-attributes", "the events have no attributes"
    COMPUTED_ATTRIBUTE = "computed-attribute", "a computed attribute name: attributes differ in type"
    ALL_ATTRIBUTES = "all-attributes", "all attributes as one map"
    NO_COLUMN = "no-column", "the events have no column '{}'"
    FINER_TIME = "finer-time", "'{}' of a time or duration read from a text, and of a value of another type"
    TIME_AND_OTHER = "time-and-other", "a time or duration and something else"
    MESSAGE = "message", "a message made in the filter"
    LITERAL = "literal", "this literal"
    READ_AS = "read-as", "a dynamic value as '{}'"

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = text


class NotNative(Exception):
    """The expression has no exact native form; the reason says why, as it is shown to a person."""

    def __init__(self, why: Reason, *details: object) -> None:
        super().__init__(why.text.format(*details) if details else why.text)
        self.why = why

    @property
    def code(self) -> str:
        """The code of the reason."""
        return self.why.code

    @property
    def reason(self) -> str:
        """The reason, in words."""
        return str(self.args[0])
