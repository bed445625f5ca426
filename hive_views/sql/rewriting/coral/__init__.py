"""Rules that rewrite an expanded text so that Trino's Hive connector reads it, with the same rows in Hive and Spark.

The connector translates the text in the metastore's row with Coral, which refuses some constructs of Hive and Spark and
reads others in another way (docs/trino.md). Each rule replaces one construct by another one that Hive, plain Spark and
Trino read alike; `tests/unit/sql/rewriting/test_coral.py` has an example of each. A rule that does not apply leaves
the text unchanged. After a rule the text must have the columns, types and names that it had before, or the rule is
taken back.
"""

from hive_views.sql.rewriting.coral.row_texts import RULES, apply_rules, rewrite_for_coral, row_text

__all__ = ["RULES", "apply_rules", "rewrite_for_coral", "row_text"]
