"""The lambdas of an SQL text, and how many of them Spark can give types to and compile."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .reasons import NotNative

MAX_LAMBDAS = 16
"""Lambdas in one another. Each doubles how often Spark asks for types: sixteen take it a second, twenty-four eleven."""
MAX_ROUNDS = 80
"""Lambdas that wait for one another's types. Spark resolves one a round, and gives up after a hundred rounds."""
MAX_IN_ALL = 300
"""Lambdas in one conjunct. All of them are in one generated method: 350 take a gigabyte and ten seconds to compile."""
TOO_MANY_LAMBDAS = "more lambdas in one another than Spark's analyzer takes"
_SIGN = re.compile(r"'[^']*'|`(?:[^`]|``)*`|->|[()]")


def refuse_unresolvable(texts: Sequence[str]) -> None:
    """Looks at the lambdas of SQL texts that make one value.

    Raises:
        NotNative: where the analyzer would give up on their types or take too long, or the compiler would.
    """
    if sum(text.count("->") for text in texts) <= MAX_LAMBDAS:
        return
    in_all, rounds, nested = zip(*map(_counts, texts), strict=True)
    if sum(in_all) > MAX_IN_ALL:
        raise NotNative("more lambdas than the JVM compiles in one method")
    if max(nested) > MAX_LAMBDAS or max(rounds) > MAX_ROUNDS:
        raise NotNative(TOO_MANY_LAMBDAS)


def _counts(text: str) -> tuple[int, int, int]:
    """How many lambdas an SQL text has, how many rounds they take to resolve, and how many there are in one another.

    A call's lambda waits for what it is given, and what is in the lambda waits for that.
    """
    in_all, open_, nested = 0, 0, 0
    before, within, opened = [0], [0], [0]
    for found in _SIGN.finditer(text):
        match found.group():
            case "(":
                for stack in (before, within, opened):
                    stack.append(0)
            case ")":
                rounds = before.pop() + within.pop()
                within[-1] = max(within[-1], rounds)
                open_ -= opened.pop()
            case "->":
                in_all += 1
                before[-1] += within[-1] + 1
                within[-1] = 0
                opened[-1] += 1
                open_ += 1
                nested = max(nested, open_)
            case _:
                pass
    return in_all, before[0] + within[0], nested
