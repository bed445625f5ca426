"""Which texts Spark's parser reads: constructs of several engines, and each keyword at each position of a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

FORMS = (
    "select {} from t",
    "select id, {} from t",
    "select t.{} from t",
    "select id as {} from t",
    "select id {} from t",
    "select {}.id from t {}",
    "select {}.id from t as {}",
    "with {} as (select 1 a) select a from {}",
    "select id from t where {} > 1",
    "select id from t order by {}",
    "select {}, count(*) c from t group by {}",
    "select {} + 1 x from t",
    "select abs({}) x from t",
    "select q.{} from (select id as {} from t) q",
    "select {} from (select 1) q({})",
    "select {} from values (1) v({})",
    "select sum(id) over {} x from t window {} as (order by id)",
    "select named_struct('{}', 1).{} x from t",
    "select {} from t lateral view explode(array(1)) q as {}",
    "select id from d.{}",
    "select case {} when 1 then 2 end x from t",
    "select id from t where {} = 1 and id = 1",
    "select id from t where {} in (1)",
    "select -{} x from t",
    "select transform(array(1), {} -> {} + 1) x from t",
    "select {}(1) x from t",
    "select id from t join u on t.{} = u.{}",
)
"""Texts with a keyword as a name."""


def with_keyword(form: str, word: str) -> str:
    """Return a form with a keyword in each place."""
    return form.replace("{}", word.lower())


def readable(spark: Any, texts: Iterable[str]) -> set[str]:
    """Return the texts that the installed Spark parses as the query of a view."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    return {text for text in texts if succeeds(parser.parsePlan, f"CREATE VIEW v AS {text}")}


def succeeds(call: Callable[[str], Any], argument: str) -> bool:
    """Return whether a method of the JVM accepts a text."""
    try:
        call(argument)
    except Exception:  # noqa: BLE001 (an error of the JVM)
        return False
    return True
