"""Frames of windows that Spark refuses: bounds of a wrong type, bounds in a wrong order, frames of `rank()`.

Source of the rules: Spark 4.1's `SpecifiedWindowFrame`, `WindowSpecDefinition` and `ResolveWindowFrame`; measured with
Spark 4.1.4 (`tests/integration/spark/test_refused_queries.py`). Where a type is not known, nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

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
        reason = (
            self._reason_of_rows(distances, type_of)
            if self.kind == "ROWS"
            else self._reason_of_range(distances, type_of)
        )
        lower, upper = (bound.number if isinstance(bound, Distance) else None for bound in (self.lower, self.upper))
        if reason is None and lower is not None and upper is not None and lower > upper:
            return "This frame ends before it begins"
        return reason

    def _reason_of_rows(self, distances: list[Distance], type_of: TypeOf) -> str | None:
        kinds = {type_of(distance.value) for distance in distances} - {None, "int"}
        return f"Spark needs a number of rows of type INT, not {kinds.pop()!s}" if kinds else None

    def _reason_of_range(self, distances: list[Distance], type_of: TypeOf) -> str | None:
        if not self.order and (self.lower, self.upper) != (Edge.FIRST, Edge.LAST):
            return "A frame of RANGE needs ORDER BY"
        if not distances:
            return None
        if len(self.order) > 1:
            return "A frame of RANGE with a difference needs one key in ORDER BY"
        key = type_of(self.order[0])
        kinds = [kind for distance in distances if (kind := type_of(distance.value)) is not None]
        wrong = [kind for kind in kinds if key is not None and not _has_difference(key, kind)]
        return f"Spark has no RANGE of {wrong[0].upper()} over {str(key).upper()}" if wrong else None


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
        frame = frame or _frame_of_name(window)
        if frame is not None and reason is None:
            reason = _reason_of_function(function_of(window), frame)
        if reason is not None:
            yield window, reason


def _frame_of_name(window: exp.Expr) -> Frame | None:
    """Return the frame of the window of WINDOW that an OVER names."""
    select = window.find_ancestor(exp.Select) if window.args.get("alias") is not None else None
    windows = select.args.get("windows") or () if select is not None else ()
    return next((Frame.of(named) for named in windows if named is not window and named.name == window.alias), None)


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
