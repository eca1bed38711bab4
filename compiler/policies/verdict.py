"""The verdict of policies on a message, in the order in which EMQX judges it, and what each policy counts.

Policies are judged in their order. A failure whose action stops ends it: a policy that is not reached counts nothing.
A check that errs has failed, with the error as its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..patterns.topic_filters import matches
from .model import Action, Check, Policy, Strategy

M = TypeVar("M", contravariant=True)


class Test(Protocol[M]):
    """A check that has been compiled, or a schema that has been looked up.

    Raises:
        Exception: where the check errs on the message.
    """

    def __call__(self, message: M, /) -> bool:
        """Whether the message passes."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that a message did not pass: its number in the policy, from 0, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What one policy said of a message: `failed` are the checks that it did not pass, none where it passed."""

    policy: Policy
    passed: bool
    failed: tuple[FailedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a message goes on, and what each policy said that was judged, in order.

    `by` is the failure that stopped the message, None where it is accepted. In an audit `judged` goes on behind it.
    """

    accepted: bool
    judged: tuple[Judged, ...]
    by: Judged | None = None

    @property
    def action(self) -> Action | None:
        """What becomes of a rejected message; None for an accepted one."""
        return None if self.by is None else self.by.policy.on_failure

    @property
    def reason(self) -> str:
        """Why a message is rejected, in a line; empty for an accepted one."""
        if self.by is None:
            return ""
        if self.by.policy.strategy is Strategy.ANY_PASS:
            return f"policy '{self.by.policy.name}': no check passed"
        failed = self.by.failed[0]
        return f"policy '{self.by.policy.name}', check {failed.number + 1}: {failed.reason}"


@dataclass(slots=True)
class Count:
    """What a policy has counted: `matched = succeeded + failed`."""

    matched: int = 0
    succeeded: int = 0
    failed: int = 0


class Counts:
    """Counts by policy, and how many messages that some policy judged went on, or did not."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self.by_policy = {policy.name: Count() for policy in policies}
        self.accepted = 0
        self.rejected = 0

    def add(self, verdict: Verdict) -> None:
        """Counts a verdict."""
        for judged in verdict.judged:
            count = self.by_policy[judged.policy.name]
            count.matched += 1
            count.succeeded += judged.passed
            count.failed += not judged.passed
        if verdict.judged:
            self.accepted += verdict.accepted
            self.rejected += not verdict.accepted


def applying(policies: Iterable[Policy], topic: str) -> list[Policy]:
    """The enabled policies with a filter that the topic matches, in order, each once."""
    found = [p for p in policies if p.enabled and any(matches(topic, f) for f in p.topics)]
    return sorted(found, key=lambda p: p.order)


def verdict(
    policies: Iterable[Policy], topic: str, message: M, tests: Mapping[Check, Test[M]], *, audit: bool = False
) -> Verdict:
    """The verdict on a message. A check without a test has failed: its schema is not known.

    With `audit` every policy that applies is judged, though one before it stops the message.
    """
    judged: list[Judged] = []
    by: Judged | None = None
    for policy in applying(policies, topic):
        said = _judged(policy, message, tests)
        judged.append(said)
        if not said.passed and policy.on_failure.stops and by is None:
            by = said
            if not audit:
                break
    return Verdict(by is None, tuple(judged), by)


def _judged(policy: Policy, message: M, tests: Mapping[Check, Test[M]]) -> Judged:
    failed: list[FailedCheck] = []
    for number, check in enumerate(policy.checks):
        reason = _failure(check, message, tests)
        if reason:
            failed.append(FailedCheck(number, reason))
            if policy.strategy is Strategy.ALL_PASS:
                return Judged(policy, False, tuple(failed))
        elif policy.strategy is Strategy.ANY_PASS:
            return Judged(policy, True)
    passed = policy.strategy is Strategy.ALL_PASS
    return Judged(policy, passed, tuple(failed))


def _failure(check: Check, message: M, tests: Mapping[Check, Test[M]]) -> str:
    """Why a message does not pass a check; empty where it does."""
    test = tests.get(check)
    if test is None:
        return f"the {check.type} schema '{check.text}' is not known"
    try:
        return "" if test(message) else "it does not hold"
    except Exception as e:  # whatever a check does, it is no error of the run
        return f"error: {e}" if str(e) else f"error: {type(e).__name__}"
