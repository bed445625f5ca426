"""Plain Spark's views: one raw text, and what it meant when it was written in the row's parameters.

| Spark | current database at creation | columns of the query | settings |
|---|---|---|---|
| before 2.2 | none: the text is complete | none | none |
| 2.2 to 2.4 | `view.default.database` | `view.query.out.*` | none |
| 3.0 | `view.catalogAndNamespace.*` | `view.query.out.*` | none |
| 3.1 and later | `view.catalogAndNamespace.*` | `view.query.out.*` | `view.sqlConfig.*` |

The columns' real case and types are in `spark.sql.sources.schema`, cut into `….part.N` up to Spark 3.1. Source:
Spark's CatalogTable and HiveExternalCatalog.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hive_views.legacy_import.model import LegacyColumn, LegacyView, Reason, Refusal, Writer
from hive_views.legacy_import.mojibake import demangled
from hive_views.legacy_import.readers.hive import columns_of
from hive_views.metastore.row_codec import Row
from hive_views.spec.session_settings import ANSI, RECORDED

_NAMESPACE = "view.catalogAndNamespace."
_OLD_DATABASE = "view.default.database"
_OUTPUT = "view.query.out."
_SETTING = "view.sqlConfig."
_SCHEMA = "spark.sql.sources.schema"
_SIGNS = (_NAMESPACE, _OLD_DATABASE, _OUTPUT, _SETTING, _SCHEMA, "spark.sql.create.version")
_TEMPORARY = ("view.referredTempViewNames", "view.referredTempFunctionsNames", "view.referredTempVariablesNames")
_ROWS_ALIKE = ("spark.sql.artifact.",)
"""Begin settings that Spark records and that no row depends on: which session's JARs are loaded."""
DEFAULTS = {
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Settings at their default, which say nothing special of a view. A test compares them with the installed Spark; that
Spark 3.1 to 4.0 had the same was not looked up. Left out are those whose default changed, such as timeParserPolicy."""
_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def wrote(parameters: Mapping[str, str]) -> bool:
    """Whether plain Spark wrote a row with these parameters."""
    return any(key.startswith(_SIGNS) for key in parameters)


def outlives(key: str) -> bool:
    """Whether a parameter of Spark's may stay in the row of an Iceberg view.

    Those that describe the text go: an Iceberg commit rewrites the text and leaves them, and then they break readers
    (measured). The settings under which the text was written and the version stay: without them plain Spark would run
    the same text under other rules, e.g. ANSI mode.
    """
    return not key.startswith((_NAMESPACE, _OLD_DATABASE, _OUTPUT, _SCHEMA, "view.referredTemp", "view.schemaMode"))


def unheeded(settings: Mapping[str, str]) -> str | None:
    """Say which of a view's settings nobody who reads it through Iceberg works under."""
    found = ", ".join(
        f"{key}={value}"
        for key, value in sorted(settings.items())
        if key not in RECORDED
        and not key.startswith(_ROWS_ALIKE)
        and DEFAULTS.get(key, "").lower() != value.strip().lower()
    )
    if not found:
        return None
    return f"made under {found}, which a reader through Iceberg does not set: set it there, if rows depend on it"


def read(row: Row) -> LegacyView:
    """Read the row of a view that plain Spark wrote."""
    parameters = row.parameters
    text = row.texts.expanded or row.texts.original
    try:
        namespace = _list(parameters, f"{_NAMESPACE}numParts", f"{_NAMESPACE}part.")
        output = _list(parameters, f"{_OUTPUT}numCols", f"{_OUTPUT}col.")
        columns = _columns(row)
        problem = _problem(row, text, namespace)
    except ValueError as error:
        namespace, output, columns = None, None, columns_of(row)
        problem = Refusal(Reason.UNREADABLE, f"the parameters that Spark wrote for {row.name} are broken: {error}")
    database = namespace[-1] if namespace else parameters.get(_OLD_DATABASE, row.name.database)
    return LegacyView(
        name=row.name,
        writer=Writer.SPARK,
        dialect="spark",
        sql=text or "",
        database=database.lower(),
        columns=columns,
        original=row.texts.original if row.texts.original != text else None,
        catalog=namespace[0] if namespace is not None and len(namespace) > 1 else None,
        query_columns=output,
        comment=parameters.get("comment"),
        # As plain Spark reads a view that records none (`spark.sql.assumeAnsiFalseIfNotPersisted.enabled`); Iceberg's
        # catalog takes the session's.
        settings={ANSI: "false"}
        | {key.removeprefix(_SETTING): value for key, value in parameters.items() if key.startswith(_SETTING)},
        partitioned=bool(row.table.partitionKeys),
        mangled=demangled(text or ""),
        problem=problem,
    )


def _problem(row: Row, text: str | None, namespace: tuple[str, ...] | None) -> Refusal | None:
    if not text:
        return Refusal(Reason.NO_TEXT, f"the row of {row.name} has no view text")
    if namespace is not None and len(namespace) > 2:
        return Refusal(Reason.OTHER_CATALOG, f"{'.'.join(namespace)} was current, which is no database of a metastore")
    for key in _TEMPORARY:
        names = json.loads(row.parameters.get(key, "[]"))
        if names:
            return Refusal(Reason.UNSUPPORTED, f"it reads temporary objects ({key}): {names}")
    return None


def _list(parameters: Mapping[str, str], count: str, prefix: str) -> tuple[str, ...] | None:
    if count not in parameters:
        return None
    try:
        return tuple(parameters[f"{prefix}{number}"] for number in range(int(parameters[count])))
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from None


def _columns(row: Row) -> tuple[LegacyColumn, ...]:
    """The columns with their real case; the row has them in lower case."""
    text = row.parameters.get(_SCHEMA)
    if text is None:
        parts = _list(row.parameters, f"{_SCHEMA}.numParts", f"{_SCHEMA}.part.")
        text = None if parts is None else "".join(parts)
    declared = columns_of(row)
    if text is None:
        return declared
    try:
        fields = json.loads(text)["fields"]
        found = tuple(
            LegacyColumn(field["name"], _type(field["type"]), field.get("metadata", {}).get("comment"))
            for field in fields
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{_SCHEMA} is no schema of Spark's: {error!r}") from None
    if [column.name.lower() for column in found] != [column.name.lower() for column in declared]:
        # Another program (Hive's ALTER VIEW) changed the row since; the row's own columns are what is read.
        return declared
    # CHAR and VARCHAR are strings in this schema; the row knows better.
    return tuple(
        LegacyColumn(ours.name, theirs.type if ours.type == "string" else ours.type, theirs.comment or ours.comment)
        for ours, theirs in zip(found, declared, strict=True)
    )


def _type(value: Any) -> str:
    if isinstance(value, str):
        return _NAMES.get(value, value)
    kind = value["type"]
    if kind == "array":
        return f"array<{_type(value['elementType'])}>"
    if kind == "map":
        return f"map<{_type(value['keyType'])},{_type(value['valueType'])}>"
    if kind == "struct":
        return f"struct<{','.join(field['name'] + ':' + _type(field['type']) for field in value['fields'])}>"
    raise ValueError(f"{kind} is no type that a metastore has")
