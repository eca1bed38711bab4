"""Filter dialects: each turns the value under its key into CEL. A new dialect is one file and one line below."""

from . import attributes, expression, source_and_type, subscriptions
from .expression import expand_match
from .model import ToCel, Translation

FILTER_FORMS: dict[str, ToCel] = {
    "attributes": attributes.to_cel,
    "expression": expression.to_cel,
    "sourceAndType": source_and_type.to_cel,
}
"""What may stand under `filter`; exactly one of them at a time."""

FILTERS: ToCel = subscriptions.to_cel
"""What stands under `filters`."""

__all__ = ["FILTERS", "FILTER_FORMS", "ToCel", "Translation", "expand_match"]
