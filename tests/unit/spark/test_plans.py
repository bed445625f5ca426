"""Plans as Spark prints them (4.1.4): which relations they have."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.spark.session.plans import complete_plan, plan_nodes, relations_of

VIEW = """Project [h#1]
+- SubqueryAlias {alias}
   +- {child}
      +- RelationV2[k#2] prod.d.one prod.d.one
"""


@pytest.mark.parametrize(
    ("alias", "child", "expected"),
    [
        ("prod.d.v", "View (`prod`.`d`.`v`, [h#1])", [("prod", "d", "v")]),
        ("`my-lake`.`a.b`.`x``y`", "View", [("my-lake", "a.b", "x`y")]),
        ("v", "Project [cast(h#0 as int) AS h#1]", [("v",)]),
        ("d.v", "Project [... 1 more fields]", [("d", "v")]),
        ("`my-view`", "Project [cast(h#0 as int) AS h#1]", [("my-view",)]),
        ("alias", "Project [h#0 AS h#1]", []),
    ],
)
def test_relations_of_an_analyzed_plan(alias: str, child: str, expected: list[tuple[str, ...]]) -> None:
    nodes = tuple(plan_nodes(VIEW.format(alias=alias, child=child)))
    assert [relation.parts for relation in relations_of(nodes)] == expected


def test_reader_of_a_relation_is_the_innermost_view_of_spark() -> None:
    plan = """Project [h#1]
+- SubqueryAlias spark_catalog.d.`plain-view`
   +- View (`spark_catalog`.`d`.`plain-view`, [h#1])
      +- Project [cast(h#0 as int) AS h#1]
         +- SubqueryAlias prod.d.outer
            +- Project [cast(h#0 as int) AS h#1]
               +- SubqueryAlias prod.d.inner
                  +- Project [cast(h#0 as int) AS h#1]
"""
    relations = list(relations_of(tuple(plan_nodes(plan))))
    plain = ("spark_catalog", "d", "plain-view")
    assert [(relation.parts[-1], relation.reader) for relation in relations] == [
        ("plain-view", ()),
        ("outer", plain),
        ("inner", plain),
    ]


@pytest.mark.parametrize("end", ["... 90 more characters", "Truncated plan of 150 characters"])
def test_truncated_plan_is_rejected(end: str) -> None:
    assert complete_plan(f"Project [{end}\n+- OneRowRelation") == f"Project [{end}\n+- OneRowRelation"
    with pytest.raises(SqlError, match="maxPlanStringLength"):
        complete_plan(f"Project [h#1]\n+- Sub{end}")
