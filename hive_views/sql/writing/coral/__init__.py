"""Rules that rewrite an expanded text so that Trino's Hive connector reads it, with the same rows in Hive and Spark.

The connector translates the text in the metastore's row with Coral, which refuses some constructs of Hive and Spark and
interprets others differently (docs/trino.md). Each rule replaces one construct by another one that has the same meaning
in Hive, plain Spark and Trino; `tests/unit/sql/writing/test_coral.py` has an example of each rule. A rule that does
not apply leaves the text unchanged. If the result of a rule differs in its columns, types or names, it is discarded.
"""

from hive_views.sql.writing.coral.rules import RULES, RewrittenText, apply_rules

__all__ = ["RULES", "RewrittenText", "apply_rules"]
