"""The parts of a query whose result may differ between runs."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.references import CONSTANT_TEXT, find_nondeterminism
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

_CLOCK = (CONSTANT_TEXT, "current_timestamp", "unix_timestamp")
_METADATA = ("_deleted", "_partition", "_spec_id")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x, upper(y), cast(z AS int) FROM t WHERE x > 1", ()),
        ("SELECT count(*), sum(x), min(y), avg(z) FROM t", ()),
        ("SELECT x, current_date AS d FROM t", ("current_date",)),
        ("SELECT now() FROM t", ("now",)),
        ("SELECT uuid() FROM t", ("uuid",)),
        ("SELECT unix_timestamp(x), UNIX_TIMESTAMP /* now? */ (y, 'yyyy') FROM t", ()),
        ("SELECT unix_timestamp(x), Unix_Timestamp( /* now */ ) FROM t", _CLOCK),
        ("SELECT `unix_timestamp`() FROM t", _CLOCK),
        ("SELECT db.unix_timestamp(x) FROM t", ("unix_timestamp",)),
        ("SELECT collect_list(x) FROM t", ("array_agg", "collect_list")),
        ("SELECT x FROM t LIMIT 1", ("LIMIT",)),
        ("SELECT x FROM t TABLESAMPLE (3 ROWS)", ("TABLESAMPLE",)),
        ("SELECT other.f(x) FROM t", ("f",)),
        ("SELECT row_number() OVER (ORDER BY x) FROM t", ("row_number",)),
        ("SELECT rank() OVER (ORDER BY x) FROM t", ()),
        ("SELECT t.`user` FROM t", ()),
        ("SELECT x FROM t WHERE d < DATE 'today'", ("date 'today'",)),
        ("SELECT cast('now' AS timestamp) AS d FROM t", ("timestamp 'now'",)),
        # Spark casts the string to the type of the other operand, which is unknown here.
        ("SELECT x FROM t WHERE status = 'today' OR coalesce(y, 'now') = z", ("'now'", "'today'")),
        ("SELECT x FROM t WHERE d < ' Today '", ("'today'",)),
        ("SELECT x FROM t WHERE d IN ('2020-01-01', 'yesterday')", ("'yesterday'",)),
        ("SELECT x FROM t WHERE d BETWEEN 'yesterday UTC' AND 'tomorrow+01:00'", ("'tomorrow'", "'yesterday'")),
        ("SELECT CASE WHEN x > 1 THEN d ELSE 'today Europe/Rome' END AS d FROM t", ("'today'",)),
        ("SELECT d FROM t UNION ALL SELECT 'now'", ("'now'",)),
        ("SELECT CAST('to' || 'day' AS DATE) AS d FROM t", (CONSTANT_TEXT,)),
        ("SELECT CAST('to' 'day' AS DATE) AS d FROM t", (CONSTANT_TEXT,)),
        ("SELECT CAST(concat('no', 'w') AS TIMESTAMP) AS d FROM t", (CONSTANT_TEXT,)),
        ("SELECT to_date(replace('toXday', 'X', '')) AS d FROM t", (CONSTANT_TEXT,)),
        ("SELECT x FROM t WHERE d > trim(chr(32) || lower('NO') || 'w')", (CONSTANT_TEXT,)),
        ("SELECT x FROM t WHERE d > CAST(X'6E6F77' AS STRING)", (CONSTANT_TEXT,)),
        ("SELECT x FROM t WHERE d > conv(30716, 10, 36)", (CONSTANT_TEXT,)),
        ("SELECT x FROM t WHERE d > element_at(split('a,now', ','), 2)", (CONSTANT_TEXT,)),
        ("SELECT CAST(r'today' AS DATE) AS d FROM t", ("date 'today'",)),
        ("SELECT upper(x), concat(x, 'a'), date_add(DATE '2020-01-01', 3), coalesce(x, 'b') FROM t", ()),
        ("SELECT CASE WHEN x > 1 AND y IN ('a') THEN 'b' END, array('a', 'b'), cast('1' AS int), pi() FROM t", ()),
        ("SELECT to_date('2020-01-01'), INTERVAL '1' DAY, extract(year FROM d), round(2.5), count('a') FROM t", ()),
        ("SELECT x FROM t WHERE d > 'epoch' AND y <> 'today we sing' AND z <> 'nowhere'", ()),
        ("SELECT TRANSFORM(x, y) USING 'cat' AS (x, y) FROM t", ("TRANSFORM",)),
        ("SELECT a.y FROM (SELECT TRANSFORM(x) USING 'cat' AS (y) FROM t) AS a", ("TRANSFORM",)),
        ("SELECT x, _file, t._POS FROM t", ("_file", "_pos")),
        ("SELECT x FROM t WHERE _partition.day > 1 AND _spec_id = 1 AND NOT `_deleted`", _METADATA),
        ("SELECT x, _metadata.file_path FROM t", ("_metadata",)),
        ("SELECT x, INPUT__FILE__NAME FROM t", ("input__file__name",)),
        ("SELECT current_time FROM t", ("current_time",)),
        ("SELECT max_by(x, y) FROM t", ("arg_max", "max_by")),
        ("SELECT percentile_approx(x, 0.5) FROM t", ("percentile_approx",)),
        ("SELECT sum(x) OVER (ORDER BY y ROWS UNBOUNDED PRECEDING) FROM t", ("ROWS",)),
        ("SELECT sum(x) OVER (ORDER BY y RANGE UNBOUNDED PRECEDING) FROM t", ()),
        ("SELECT pi(), db.pi() FROM t", ("pi",)),
        ("SELECT hll_sketch_agg(x), hll_union_agg(y) FROM t", ("hll_sketch_agg", "hll_union_agg")),
        ("SELECT theta_sketch_agg(x), theta_union_agg(y) FROM t", ("theta_sketch_agg", "theta_union_agg")),
        ("SELECT CAST(max(x COLLATE UTF8_LCASE) AS STRING) FROM t", ("COLLATE",)),
        ("SELECT count(*) FROM (SELECT DISTINCT CAST(x AS STRING COLLATE UTF8_LCASE) FROM t)", ("COLLATE",)),
        ("SELECT x FROM t WHERE x COLLATE UTF8_LCASE = 'a'", ()),
        ("SELECT aes_encrypt(x, y) FROM t", ("aes_encrypt",)),
    ],
)
def test_nondeterministic_parts_are_found(sql, expected):
    assert find_nondeterminism(parse_query(sql, Dialect.SPARK)) == expected
