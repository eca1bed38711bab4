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
from tricel.k8s.workers import NotBegunError, NotFinishedError, WorkerDiedError, Workers

GOOD = json.dumps(admission_review(expression("true"))).encode()
SLOW = json.dumps(admission_review(expression(" && ".join(f"data.f{n} == 'value {n}'" for n in range(2500))))).encode()


def with_one(run: Callable[[Workers], Awaitable[None]], seconds: float = 30) -> None:
    """Runs something with one worker."""

    async def whole() -> None:
        workers = Workers(1, frozenset(), DEFAULT, seconds)
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
        with pytest.raises(NotFinishedError):
            await slow
        with pytest.raises(NotBegunError):
            await behind
        workers.seconds = 30
        assert (await workers.answer(VALIDATE, GOOD)).outcome == "allowed"

    with_one(run, 0.05)


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
