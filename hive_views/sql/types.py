"""types"""
from sqlglot import exp
from hive_views.sql.names import CAST_TARGETS
def type_of(node, state, resolver):
    while type(node) in (exp.Paren, exp.Alias):
        node=node.this
    if type(node) is exp.Column:
        c=state.bindings.get(id(node))
        return c.type if c else None
    if type(node) is exp.Dot:
        return None
    if type(node) in (exp.Cast,exp.TryCast):
        return CAST_TARGETS.get(node.args["to"].this.value) if not node.args["to"].expressions else None
    return None
