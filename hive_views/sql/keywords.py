"""The words that Hive 4.1 does not read as a name unless they are quoted (each was tried on a real Hive)."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

RESERVED = frozenset(
    """
    all alter and any array as authorization between bigint binary boolean both by case cast char column commit
    conf constraint convert create cross cube current current_date current_timestamp cursor database date dec
    decimal delete describe distinct div double drop else end except exchange exists extended external extract
    false fetch float floor following for foreign from full function grant group grouping having if import in
    inner insert int integer intersect interval into is join lateral leading left less like local macro map
    merge minus more none not null numeric of on only or order out outer over partition percent preceding
    precision prepare preserve primary procedure qualify range reads real reduce references regexp revoke right
    rlike rollback rollup row rows select set smallint some start sync table tablesample then time timestamp to
    trailing transform trigger true truncate unbounded union unique uniquejoin update user using values varchar
    when where window with
    """.split()
)
"""In lower case."""
