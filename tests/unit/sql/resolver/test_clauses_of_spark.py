"""Names in ORDER BY, HAVING, table-generating functions and table functions of dialect `spark`.

Each expanded text was compared with the author's text in Spark 4.1.4 by `random_check` (tests/unit/sql).
"""

from __future__ import annotations

from tests.unit.sql.resolver.test_colliding_names import check_case
from tests.unit.sql.text_cases import TextCase, each_case


@each_case("clauses_of_spark.txt")
def test_clause_is_read_as_spark_reads_it(case: TextCase) -> None:
    check_case(case)
