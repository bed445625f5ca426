"""What the options do with texts that a latin1 database damaged, and with materialized views."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.definition import check_convertible
from hive_views.legacy_import.legacy_view import ConversionError, LegacyColumn, LegacyView, Problem, Reason, Writer
from hive_views.legacy_import.options import ImportOptions, MaterializedMode, MojibakeMode
from hive_views.sql.text.dialects import Dialect

TEXT, DAMAGED = "SELECT 'ü' AS x", "SELECT 'Ã¼' AS x"
VIEW = LegacyView(
    name=ViewName("d", "v"),
    writer=Writer.HIVE,
    dialect=Dialect.HIVE,
    sql=DAMAGED,
    repaired_sql=TEXT,
    database="d",
    columns=(LegacyColumn("x", "string", "grÃ¶ÃŸe"),),
    comment="Ã¼ber",
)


@pytest.mark.parametrize(
    ("original", "repaired"),
    [(None, None), ("select 'Ã¼' x", "select 'ü' x"), ("select 'ü' x", "select 'ü' x"), ("", "")],
)
def test_repair(original: str | None, repaired: str | None) -> None:
    view = check_convertible(replace(VIEW, original=original), ImportOptions(mojibake=MojibakeMode.REPAIR))
    assert (view.sql, view.repaired_sql, view.original) == (TEXT, None, repaired)
    assert (view.columns[0].comment, view.comment) == ("größe", "über")
    assert view.repairs == ("characters that a latin1 database damaged are repaired",)
    assert len(view.notes) == 1 and "is repaired" in view.notes[0]


def test_refusal_shows_the_repaired_text() -> None:
    with pytest.raises(ConversionError, match="repaired it would be: SELECT 'ü' AS x") as caught:
        check_convertible(VIEW, ImportOptions())
    assert caught.value.problem.reason is Reason.MOJIBAKE


def test_kept_text_is_unchanged() -> None:
    assert check_convertible(VIEW, ImportOptions(mojibake=MojibakeMode.KEEP)) == VIEW


def test_damaged_comments_are_no_reason_to_refuse_an_intact_text() -> None:
    view = replace(VIEW, sql=TEXT, repaired_sql=None)
    kept = check_convertible(view, ImportOptions())
    assert (kept.columns, kept.comment) == (view.columns, view.comment)
    assert len(kept.notes) == 1 and "--mangled repair" in kept.notes[0]
    repaired = check_convertible(view, ImportOptions(mojibake=MojibakeMode.REPAIR))
    assert (repaired.sql, repaired.columns[0].comment, repaired.comment) == (TEXT, "größe", "über")


@pytest.mark.parametrize("mode", MaterializedMode)
def test_materialized_view(mode: MaterializedMode) -> None:
    view = replace(VIEW, sql=TEXT, repaired_sql=None, columns=(), comment=None, materialized=True)
    options = ImportOptions(materialized=mode)
    if mode is MaterializedMode.CONVERT:
        assert check_convertible(view, options) == view
    else:
        with pytest.raises(ConversionError) as caught:
            check_convertible(view, options)
        assert caught.value.problem.reason is Reason.MATERIALIZED


def test_problem_of_the_row_comes_first() -> None:
    view = replace(VIEW, problem=Problem(Reason.NO_TEXT, "it has no text"))
    with pytest.raises(ConversionError, match="it has no text"):
        check_convertible(view, ImportOptions())
