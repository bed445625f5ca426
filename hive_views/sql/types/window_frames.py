"""Frames of windows that Spark refuses: bounds of a wrong type, bounds in a wrong order, frames of `rank()`.

Source of the rules: Spark 4.1's `SpecifiedWindowFrame`, `WindowSpecDefinition` and `ResolveWindowFrame`; measured with
Spark 4.1.4 (`tests/integration/spark/test_refused_queries.py`). Where a type is not known, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import window_definition
from hive_views.sql.types import hive_types

TypeOf = Callable[[exp.Expr], str | None]
"""Returns the type of an expression; None if it is unknown."""


class Edge(Enum):
    """A bound without a number of rows."""

    FIRST = "UNBOUNDED PRECEDING"
    CURRENT = "CURRENT ROW"
    LAST = "UNBOUNDED FOLLOWING"


@dataclass(frozen=True)
class Distance:
    """A bound that is a number of rows, or a difference of values."""

    value: exp.Expr
    is_preceding: bool

    @property
    def number(self) -> int | None:
        """The number, negative in front of the row; None if it is no literal."""
        if not (isinstance(self.value, exp.Literal) and self.value.name.isdigit()):
            return None
        return -int(self.value.name) if self.is_preceding else int(self.value.name)


Bound = Edge | Distance

_OWN_FRAMES: Mapping[str, tuple[str, Bound, Bound]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "ntile"), ("ROWS", Edge.FIRST, Edge.CURRENT)),
    "cume_dist": ("RANGE", Edge.FIRST, Edge.CURRENT),
}
"""The functions that have one frame, and that frame."""
_WITHOUT_FRAME = frozenset({"lag", "lead"})
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
_FLOATS = frozenset({"float", "double"})
_DATE_DIFFERENCES = frozenset({"int", "interval day", "interval year", "interval month", "interval year to month"})
_TIMESTAMPS = frozenset({"timestamp", "timestamp_ntz"})


@dataclass(frozen=True)
class Frame:
    """The frame of a window.

    Attributes:
        kind: `ROWS` or `RANGE`.
        order: The keys by which the window is sorted.
        lower: The bound in front.
        upper: The bound behind.
    """

    kind: str
    order: tuple[exp.Expr, ...]
    lower: Bound
    upper: Bound

    @classmethod
    def of(cls, window: exp.Expr) -> Frame | None:
        """Return the frame that a window has in the text; None if it has none."""
        spec = window.args.get("spec")
        if not isinstance(spec, exp.WindowSpec):
            return None
        order = window.args.get("order")
        keys = tuple(key.this for key in order.expressions) if order is not None else ()
        lower = _bound(spec.args.get("start"), spec.args.get("start_side"))
        upper = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
        return cls(str(spec.args.get("kind")).upper(), keys, lower, upper)

    def refusal(self, type_of: TypeOf) -> str | None:
        """Return why Spark refuses the frame; None if it is not known to do so."""
        distances = [bound for bound in (self.lower, self.upper) if isinstance(bound, Distance)]
        if any(distance.value.find(exp.Column, exp.Query) is not None for distance in distances):
            return "Spark needs constant bounds of a frame"
        if self.lower is Edge.LAST or self.upper is Edge.FIRST:
            return "This frame ends before it begins"
        numbers = [distance.number for distance in distances]
        known = [number for number in numbers if number is not None]
        if len(known) == 2 and known[0] > known[1]:
            return "This frame ends before it begins"
        kinds = [kind for distance in distances if (kind := type_of(distance.value)) is not None]
        return _reason_of_rows(kinds) if self.kind == "ROWS" else self._reason_of_range(kinds, type_of)

    def _reason_of_range(self, kinds: list[str], type_of: TypeOf) -> str | None:
        """Return why Spark refuses a frame of RANGE with differences of some types."""
        if not self.order and (self.lower, self.upper) != (Edge.FIRST, Edge.LAST):
            return "A frame of RANGE needs ORDER BY"
        if all(isinstance(bound, Edge) for bound in (self.lower, self.upper)):
            return None
        if len(self.order) > 1:
            return "A frame of RANGE with a difference needs one key in ORDER BY"
        key = type_of(self.order[0])
        wrong = [kind for kind in kinds if key is not None and not _has_difference(key, kind)]
        return f"Spark has no RANGE of {wrong[0].upper()} over {str(key).upper()}" if wrong else None


def _reason_of_rows(kinds: list[str]) -> str | None:
    wrong = [kind for kind in kinds if kind != "int"]
    return f"Spark needs a number of rows of type INT, not {wrong[0].upper()}" if wrong else None


def frame_refusals(
    windows: Iterator[exp.Expr], type_of: TypeOf, function_of: Callable[[exp.Expr], str | None]
) -> Iterator[tuple[exp.Expr, str]]:
    """Yield the windows whose frames Spark refuses, with the reasons.

    Args:
        windows: Each OVER and each definition in WINDOW.
        type_of: Returns the type of an expression.
        function_of: Returns the name of the function of an OVER; None for a definition.
    """
    for window in windows:
        frame = Frame.of(window)
        reason = frame.refusal(type_of) if frame is not None else None
        definition = window_definition(window)
        frame = frame or (None if definition is None else Frame.of(definition))
        if frame is not None and reason is None:
            reason = _reason_of_function(function_of(window), frame)
        if reason is not None:
            yield window, reason


def _reason_of_function(name: str | None, frame: Frame) -> str | None:
    """Return why a function does not have a frame."""
    if name in _WITHOUT_FRAME:
        return f"{name}() has no frame: leave {frame.kind} … out"
    own = _OWN_FRAMES.get(name or "")
    return None if own is None or own == (frame.kind, frame.lower, frame.upper) else f"{name}() has no such frame"


def _bound(value: object, side: object) -> Bound:
    is_preceding = str(side).upper() == "PRECEDING"
    if value == "UNBOUNDED":
        return Edge.FIRST if is_preceding else Edge.LAST
    return Distance(value, is_preceding) if isinstance(value, exp.Expr) else Edge.CURRENT


def _has_difference(key: str, kind: str) -> bool:
    """Return whether a difference of a type can be added to keys of another."""
    base = hive_types.base(key)
    is_interval = kind.startswith("interval")
    if base == "date":
        return kind in _DATE_DIFFERENCES
    if base in _TIMESTAMPS:
        return is_interval
    return (base in _NUMBERS and not (is_interval and base in _FLOATS)) or key.startswith("interval")
