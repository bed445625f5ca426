"""Tables that an engine reads with other rows, or not at all, whatever the text of the view over them.

A fact about a kind of table is an entry of `TABLE_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hive_views.config import ENGINES
from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.sql.analysis.outcomes import Outcome

SPARK, HIVE_ENGINE, TRINO = ENGINES


@dataclass(frozen=True)
class EngineFinding:
    """A reason why an engine does not return, or may not return, the rows that a view's author sees.

    There is one finding per engine and cause. Views that read the view have it, too.
    """

    engine: str
    """`spark`, `hive` or `trino`."""
    outcome: Outcome
    """What happens."""
    construct: str
    """The cause: a construct of the text or a source of the view."""
    line: int | None = field(default=None, compare=False)
    """Line of the construct in the examined text, from 1; None if it has no position."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""
    table: str | None = None
    """The table that is the cause, whose name `construct` contains; None if a text is."""

    @property
    def text(self) -> str:
        """The finding on one line."""
        return f"{self.engine}: {self.outcome.value}: {self.construct}"

    def through(self, source: ViewName) -> EngineFinding:
        """Return the finding of a view that reads the view `source`, which has this finding."""
        if self.table is not None:
            return self
        return EngineFinding(self.engine, self.outcome, f"it reads {source}: {self.construct}")


@dataclass(frozen=True)
class TableRule:
    """What an engine does with a kind of table."""

    engine: str
    """`spark`, `hive` or `trino`."""
    outcome: Outcome
    """What happens."""
    reason: str
    """Why, and what helps; follows `it reads {table}, `."""
    version: str
    """The version of the engine that was measured."""
    applies: Callable[[Row], bool]
    """Whether the row of a table is of this kind."""


TABLE_RULES = (
    TableRule(
        HIVE_ENGINE,
        Outcome.REFUSED,
        "an Iceberg table: Hive needs Iceberg's storage handler, and the table property engine.hive.enabled=true",
        "Hive 4.1.0",
        lambda row: row.kind is RowKind.ICEBERG_TABLE,
    ),
)


def table_findings(row: Row) -> tuple[EngineFinding, ...]:
    """Return the findings about a table that a view reads."""
    return tuple(
        EngineFinding(rule.engine, rule.outcome, f"it reads {row.name}, {rule.reason}", table=str(row.name))
        for rule in TABLE_RULES
        if rule.applies(row)
    )
