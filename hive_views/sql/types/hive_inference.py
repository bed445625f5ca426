"""Types of the expressions of a Hive text: Hive's answers about calls, besides the rules for its operators."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from hive_views.sql.engines.tables import engine_table
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.types.call_inference import CallInference
from hive_views.sql.types.call_types import CallRules


class HiveTypeInference(CallInference):
    """Infers the types of expressions in one resolved Hive query."""

    def _function(self, node: exp.Func) -> str | None:
        token = self.query.function_token(node)
        name = unquote_identifier(self.text.raw(token)).lower() if token is not None else ""
        if token is None:
            return None
        has_rule = self.has_rule(name) and name not in _OF_TABLE
        known = super()._function(node) if has_rule else None
        if known is not None:
            return known
        arguments = self.arguments(node, self.argument_ranges(token, frozenset()))
        kind = _rules().result(name, arguments) if arguments is not None else None
        return kind if kind is not None or has_rule else super()._function(node)

    def _number(self, written: str) -> str | None:
        return self._literal(exp.Literal.number(written.lstrip("-")))


_OF_TABLE = frozenset({"greatest", "least"})
"""The functions whose rule the table has with more types."""


@cache
def _rules() -> CallRules:
    return CallRules(engine_table("hive", "hive"))
