"""RE2 patterns on Spark: what may run natively with exactly RE2's answer, and what must run on RE2 itself."""

from tricel.compiler.patterns import Refused

from .plan import Always, Contains, EndsWith, Equals, Fallback, Java, Plan, StartsWith, plan

__all__ = ["Always", "Contains", "EndsWith", "Equals", "Fallback", "Java", "Plan", "Refused", "StartsWith", "plan"]
