"""The processes that review: their order, and what becomes of a review whose process dies or takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from admission_vectors import admission_review, expression
from tricel.compiler.limits import DEFAULT
from tricel.k8s.review import NotAReviewError
from tricel.k8s.work import VALIDATE
from tricel.k8s.workers import NotBegunError, WorkerDiedError, Workers

GOOD = json.dumps(admission_review(expression("true"))).encode()
SLOW = json.dumps(admission_review(expression(" && ".join(f"data.f{n} == 'value {n}'" for n in range(2500))))).encode()


def with_one(run: Callable[[Workers], Awaitable[None]], seconds: float = 30) -> None:
    """Runs something with one worker."""

    async def whole() -> None:
        workers = Workers(1, frozenset(), DEFAULT, seconds, 64 * 2**20)
        await workers.start()
        try:
            await run(workers)
        finally:
            workers.close()

    asyncio.run(whole())


def test_reviews_are_answered_in_their_order() -> None:
    async def run(workers: Workers) -> None:
        order: list[int] = []

        async def ask(n: int) -> None:
            answer = await workers.answer(VALIDATE, GOOD if n % 2 else SLOW)
            assert answer.outcome == "allowed"
            order.append(n)

        await asyncio.gather(*(ask(n) for n in range(6)))
        assert list(range(6)) == order

    with_one(run)


def test_what_is_no_review_is_the_callers_fault() -> None:
    async def run(workers: Workers) -> None:
        with pytest.raises(NotAReviewError, match="not JSON"):
            await workers.answer(VALIDATE, b"{")
        assert (await workers.answer(VALIDATE, GOOD)).outcome == "allowed"

    with_one(run)


def test_a_review_that_takes_too_long_holds_up_no_other() -> None:
    async def run(workers: Workers) -> None:
        slow = asyncio.ensure_future(workers.answer(VALIDATE, SLOW))
        await asyncio.sleep(0)
        behind = asyncio.ensure_future(workers.answer(VALIDATE, GOOD))
        with pytest.raises(NotBegunError):
            await behind
        told = await slow
        assert ("denied", ("TRI502",)) == (told.outcome, told.denials)
        workers.seconds = 30
        assert (await workers.answer(VALIDATE, GOOD)).outcome == "allowed"

    with_one(run, 0.05)


def test_a_large_review_that_takes_too_long_is_a_denial_too() -> None:
    """Another worker reads whose it is."""

    async def run(workers: Workers) -> None:
        workers.seconds = 30
        await workers.start()
        workers.seconds = 0.05
        told = await workers.answer(VALIDATE, SLOW + b" " * 300_000)
        assert ("denied", ("TRI502",)) == (told.outcome, told.denials)

    with_one(run)


def test_a_review_whose_process_dies_fails_alone() -> None:
    async def run(workers: Workers) -> None:
        (worker,) = workers._all
        slow = asyncio.ensure_future(workers.answer(VALIDATE, SLOW))
        behind = asyncio.ensure_future(workers.answer(VALIDATE, GOOD))
        await asyncio.sleep(0.02)
        os.kill(worker.process.pid, signal.SIGKILL)
        with pytest.raises(WorkerDiedError):
            await slow
        assert (await behind).outcome == "allowed"
        assert {worker} != workers._all

    with_one(run)


def test_a_review_that_needs_too_much_memory_fails_alone() -> None:
    """Four million characters of JSON that are a hundred million bytes of Python."""
    bomb = b"[" + b"[]," * 1_300_000 + b"[]]"

    async def run(workers: Workers) -> None:
        with pytest.raises(NotAReviewError, match="too much memory"):
            await workers.answer(VALIDATE, bomb)
        assert (await workers.answer(VALIDATE, GOOD)).outcome == "allowed"

    with_one(run)


def test_small_reviews_go_on_beside_a_large_one() -> None:
    """Of two large ones the second waits, though a worker is free, and a small one takes that."""
    large = GOOD + b" " * 300_000

    async def run(workers: Workers) -> None:
        await workers.start()
        order: list[int] = []

        async def ask(n: int, body: bytes) -> None:
            assert (await workers.answer(VALIDATE, body)).outcome == "allowed"
            order.append(n)

        slow = SLOW + b" " * 300_000
        await asyncio.gather(*(ask(n, body) for n, body in enumerate((slow, large, GOOD))))
        assert [2, 0, 1] == order

    with_one(run)
