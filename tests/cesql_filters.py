"""Random filters of CloudEvents SQL, and events that are difficult for them."""

from __future__ import annotations

from random import Random

NAMES = ("a", "b", "n", "m", "flag", "subject", "type", "id", "MyExt", "5g", "in5")
"""Attributes, of which `type` and `id` are in every event."""
TEXTS = (
    *(
        "",
        "a",
        "ab",
        "abc",
        "A",
        "aBc",
        "x",
        "true",
        "TRUE",
        "False",
        "5",
        "-1",
        "007",
        "+3",
        "0",
        " a ",
        "é",
        "😀",
        "a%b",
        "a_b",
    ),
    *(
        "50% off",
        "%",
        "_",
        "\\",
        "a\\b",
        "\n",
        "a\nb",
        "\u2003x\u2003",
        "ſ",
        "K",
        "aé😀b",
        "2147483647",
        "-2147483648",
        "12",
    ),
)
HOSTILE = (
    *(
        "2147483648",
        "-2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999",
        "0" * 30 + "7",
        "-" + "0" * 5000 + "7",
    ),
    *("1.5", "1e3", "0x10", " 5", "5 ", "--5", "+", "٣", "tRuE", "\x00", "a\x00b", "x" * 300, "\U0001d4b3"),
)
INTS = ("0", "1", "2", "-1", "5", "12", "-3", "2147483647", "-2147483648", "65536", "+7")
PATTERNS = (
    *(
        "%",
        "_",
        "a%",
        "%b",
        "%a%",
        "a_c",
        "a%b",
        "%%",
        "_%",
        "%_",
        "",
        "a\\%b",
        "a\\_b",
        "\\%%",
        "abc",
        "__",
        "\\",
        "a\\b",
        "%é%",
    ),
    *("_😀%", "5%", "%.%", "(a|b)%", "[a]%", "a%b%c", "%\n%"),
)


def quoted(text: str, chosen: Random) -> str:
    quote = chosen.choice("'\"")
    while text.endswith("\\") or f"\\{quote}" in text:
        return "'a'"
    return (
        quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote
        if "\\" not in text
        else f"{quote}{text}{quote}"
    )


class Filters:
    """Filters by their type, mostly well typed."""

    def __init__(self, chosen: Random) -> None:
        self.chosen = chosen

    def one_of(self, *options: str) -> str:
        return self.chosen.choice(options)

    def boolean(self, depth: int) -> str:
        chosen = self.chosen
        if depth <= 0:
            return self.one_of(
                "TRUE",
                "FALSE",
                f"EXISTS {chosen.choice(NAMES)}",
                f"BOOL({self.name()})",
                f"{self.name()} = {self.literal()}",
            )
        d = depth - 1
        match chosen.randrange(15):
            case 0 | 1 | 2:
                return f"({self.boolean(d)}) {self.one_of('AND', 'and', 'OR', 'Or', 'XOR')} ({self.condition(d)})"
            case 3:
                return f"{self.atom(d)} {self.one_of('AND', 'OR', 'XOR')} {self.atom(d)} {self.one_of('AND', 'OR')} {self.atom(d)}"
            case 4:
                return f"NOT ({self.condition(d)})"
            case 5 | 6:
                return f"{self.any(d)} {self.one_of('=', '!=', '<>')} {self.any(d)}"
            case 7 | 8:
                return f"{self.number(d)} {self.one_of('<', '<=', '>', '>=')} {self.number(d)}"
            case 9 | 10:
                return (
                    f"{self.any(d)} {self.one_of('LIKE', 'NOT LIKE', 'like')} {quoted(chosen.choice(PATTERNS), chosen)}"
                )
            case 11 | 12:
                items = ", ".join(self.any(d - 1) for _ in range(chosen.randint(1, 3)))
                return f"{self.any(d)} {self.one_of('IN', 'NOT IN')} ({items})"
            case 13:
                return f"{self.one_of('IS_INT', 'is_bool')}({self.any(d)})"
            case _:
                return f"{self.name()} = {quoted(chosen.choice(TEXTS), chosen)}"

    def condition(self, depth: int) -> str:
        """A truth value, or now and then what is cast to one."""
        return self.any(depth) if self.chosen.random() < 0.1 else self.boolean(depth)

    def atom(self, depth: int) -> str:
        return f"({self.boolean(depth)})" if depth > 0 else self.boolean(0)

    def any(self, depth: int) -> str:
        match self.chosen.randrange(8):
            case 0 | 1 | 2:
                return self.name()
            case 3:
                return self.literal()
            case 4:
                return f"({self.boolean(depth - 1)})"
            case 5:
                return f"({self.number(depth - 1)})"
            case _:
                return self.text(depth - 1)

    def name(self) -> str:
        name = self.chosen.choice(NAMES)
        return name.upper() if self.chosen.random() < 0.2 else name

    def literal(self) -> str:
        match self.chosen.randrange(5):
            case 0:
                return self.chosen.choice(INTS)
            case 1:
                return self.one_of("TRUE", "false")
            case _:
                return quoted(self.chosen.choice(TEXTS), self.chosen)

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.one_of(*INTS, "n", "m", "n", "m", "a", f"LENGTH({self.name()})")
        d = depth - 1
        match self.chosen.randrange(7):
            case 0 | 1:
                return f"({self.number(d)}) {self.one_of('+', '-', '*', '/', '%')} ({self.number(d)})"
            case 2:
                return f"- {self.number(0)}"
            case 3:
                return f"ABS({self.any(d)})"
            case 4:
                return f"LENGTH({self.any(d)})"
            case 5:
                return f"INT({self.any(d)})"
            case _:
                return self.number(0)

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.one_of(self.name(), quoted(self.chosen.choice(TEXTS), self.chosen))
        d = depth - 1
        match self.chosen.randrange(8):
            case 0:
                return f"CONCAT({', '.join(self.any(d) for _ in range(self.chosen.randint(0, 3)))})"
            case 1:
                return f"CONCAT_WS({', '.join(self.any(d) for _ in range(self.chosen.randint(1, 3)))})"
            case 2:
                return f"{self.one_of('LOWER', 'upper', 'TRIM', 'STRING')}({self.any(d)})"
            case 3 | 4:
                return f"{self.one_of('LEFT', 'RIGHT')}({self.any(d)}, {self.number(d)})"
            case 5:
                return f"SUBSTRING({self.any(d)}, {self.number(d)})"
            case 6:
                return f"SUBSTRING({self.any(d)}, {self.number(d)}, {self.number(d)})"
            case _:
                return self.name()


def event(chosen: Random) -> dict[str, str]:
    """An event: attributes as texts."""
    pool = (*TEXTS, *TEXTS, *HOSTILE)
    found = {"id": chosen.choice(pool), "type": chosen.choice(pool), "source": "/s", "specversion": "1.0"}
    for name in NAMES:
        name = name.lower()
        if name not in found and chosen.random() < 0.75:
            numeric = name in ("n", "m") and chosen.random() < 0.7
            found[name] = (
                chosen.choice(("0", "1", "-1", "5", "2147483647", "-2147483648", "65536", "007"))
                if numeric
                else chosen.choice(pool)
            )
    if chosen.random() < 0.4:
        found["flag"] = chosen.choice(("true", "FALSE", "True", "x"))
    return found
