"""Arithmetic of 32 bits, in CEL's of 64: how large a result may be, and what becomes of one that is beyond."""

from __future__ import annotations

from ...nodes import ADD, MODULO, SUBTRACT, Call, Lit, LitKind
from ...source import Span
from .logic import INT_MAX, INT_MIN
from .profiles import Profile
from .values import Int, literal, range_tests

_TURN, _SHIFT = 2**32, -INT_MIN


def bounded(number: Int, profile: Profile, span: Span) -> Int:
    """A number that may be beyond 32 bits, as an error there, or from the other end."""
    if number.low >= INT_MIN and number.high <= INT_MAX:
        return number
    if profile.wraps:
        # A multiple of 2^32 makes it no less than 0, and the sum is less than 2^63.
        shift = _SHIFT + -(-max(-number.low - _SHIFT, 0) // _TURN) * _TURN
        modulus, shifted, back = (Lit(LitKind.INT, n, span=span) for n in (_TURN, shift, _SHIFT))
        sum_ = Call(ADD, (number.expr, shifted), span=span)
        wrapped = Call(SUBTRACT, (Call(MODULO, (sum_, modulus), span=span), back), span=span)
        return Int(number.ok, wrapped)
    at_least, at_most = range_tests(number.expr, span)
    tests = ((at_least, number.low < INT_MIN), (at_most, number.high > INT_MAX))
    ok = (*number.ok, *(test for test, needed in tests if needed))
    return Int(ok, number.expr, max(number.low, INT_MIN), min(number.high, INT_MAX))


def result_range(operator: str, left: Int, right: Int) -> tuple[int, int]:
    """The least and the greatest result, in whole numbers of any size."""
    corners = [(x, y) for x in (left.low, left.high) for y in (right.low, right.high)]
    match operator:
        case "+":
            return left.low + right.low, left.high + right.high
        case "-":
            return left.low - right.high, left.high - right.low
        case "*":
            products = [x * y for x, y in corners]
            return min(products), max(products)
        case "/":
            divisors = [y for y in (right.low, right.high, -1, 1) if y and right.low <= y <= right.high]
            quotients = [_quotient(x, y) for x in (left.low, left.high) for y in divisors]
            return min(quotients, default=0), max(quotients, default=0)
        case _:
            if literal(left) is not None and literal(right):
                rest = left.low - right.low * _quotient(left.low, right.low)
                return rest, rest
            most = max(abs(right.low), abs(right.high), 1) - 1
            return (0 if left.low >= 0 else -most), (0 if left.high <= 0 else most)


def _quotient(x: int, y: int) -> int:
    """`x / y` rounded towards 0."""
    whole = abs(x) // abs(y)
    return whole if (x < 0) == (y < 0) else -whole
