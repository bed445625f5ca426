"""Views of plain Spark: the row has the typed text, and the parameters record the context of that text.

| Spark | current database at creation | columns of the query | settings |
|---|---|---|---|
| before 2.2 | not recorded: all names are qualified | not recorded | not recorded |
| 2.2 to 2.4 | `view.default.database` | `view.query.out.*` | not recorded |
| 3.0 | `view.catalogAndNamespace.*` | `view.query.out.*` | not recorded |
| 3.1 and later | `view.catalogAndNamespace.*` | `view.query.out.*` | `view.sqlConfig.*` |

The columns' case and types are in `spark.sql.sources.schema`, split into `….part.N` up to Spark 3.1. Source: Spark's
CatalogTable and HiveExternalCatalog.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hive_views.legacy_import.legacy_view import (
    LegacyColumn,
    LegacyView,
    Problem,
    Reason,
    Writer,
    declared_columns,
    decode_mojibake,
)
from hive_views.metastore.rows.row import Row
from hive_views.metastore.spark_schema import PLACEHOLDER, SCHEMA, read_list, schema_fields
from hive_views.spec.json_text import parse_json
from hive_views.spec.session_settings import ANSI, RECORDED, ROW_PREFIX, settings_of_row
from hive_views.sql.parsing.parser_settings import (
    CASE_SENSITIVE,
    PARSER_SETTINGS,
    find_doubled_quote,
    find_variable,
    reads_doubled_quotes,
    setting_dependence,
)
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.names import spark_name_of_json

_NAMESPACE = "view.catalogAndNamespace."
_OLD_DATABASE = "view.default.database"
_OUTPUT = "view.query.out."
_VERSION = "spark.sql.create.version"
_SIGNATURES = (_NAMESPACE, _OLD_DATABASE, _OUTPUT, ROW_PREFIX, SCHEMA, _VERSION)
_SCHEMA_MODE = "view.schemaMode"
_COLLATION = "collation"
"""The parameter for DEFAULT COLLATION, which Spark (4.1) gives to the literals and casts in a view's text."""
_BINARY = "UTF8_BINARY"
_COLLATIONS = "__COLLATIONS"
"""The entry of a field's metadata with the collations of its strings, whose types in the schema are plain `string`."""
_TIME = re.compile(r"\btime\(\d+\)")
_TEMPORARY = ("view.referredTempViewNames", "view.referredTempFunctionsNames", "view.referredTempVariablesNames")
_SUBSTITUTE = "spark.sql.variable.substitute"
_IRRELEVANT_SETTINGS = ("spark.sql.artifact.", _SUBSTITUTE)
"""Prefixes of recorded settings that do not affect results, such as the JARs of a session. Variable substitution has no
effect because the new texts contain no variables."""
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
"""Default values of settings; the plan does not mention a setting with its default. A test compares them with the
installed Spark; the defaults of Spark 3.1 to 4.0 were not checked. Settings whose default changed between releases,
such as timeParserPolicy, are left out."""
_PARSER_SETTINGS = frozenset({*PARSER_SETTINGS, CASE_SENSITIVE})
"""Settings that change the meaning of a text; a view whose text depends on one is not converted."""


def is_spark_row(row: Row) -> bool:
    """Return whether plain Spark wrote a row."""
    return any(key.startswith(_SIGNATURES) for key in row.parameters)


def is_kept_parameter(key: str) -> bool:
    """Return whether a parameter of Spark may stay in the row of an Iceberg view.

    Parameters that describe the text are removed: an Iceberg commit rewrites the text but not these parameters, and
    then plain Spark cannot read the view. Spark's version and the settings under which the text was written are kept:
    without them plain Spark would run the same text under other rules, e.g. ANSI mode.
    """
    return not key.startswith((_NAMESPACE, _OLD_DATABASE, _OUTPUT, SCHEMA, "view.referredTemp", "view.schemaMode"))


def settings_note(settings: Mapping[str, str]) -> str | None:
    """Return a sentence about the settings of a view that readers through Iceberg do not apply; None for none."""
    not_applied = ", ".join(
        f"{key}={value}"
        for key, value in sorted(settings.items())
        if key not in RECORDED
        and key not in _PARSER_SETTINGS
        and not key.startswith(_IRRELEVANT_SETTINGS)
        and DEFAULTS.get(key, "").lower() != value.strip().lower()
    )
    if not not_applied:
        return None
    return f"made under {not_applied}, which a reader through Iceberg does not set: set it there, if rows depend on it"


def read(row: Row) -> LegacyView:
    """Read the row of a view that plain Spark wrote."""
    parameters = row.parameters
    text = row.texts.expanded or row.texts.original
    try:
        namespace = read_list(parameters, f"{_NAMESPACE}numParts", f"{_NAMESPACE}part.")
        query_columns = read_list(parameters, f"{_OUTPUT}numCols", f"{_OUTPUT}col.")
        columns = _read_columns(row)
        problem = _find_problem(row, text, namespace)
    except ValueError as error:
        namespace, query_columns, columns = None, None, declared_columns(row)
        problem = Problem(Reason.UNREADABLE, f"the parameters that Spark wrote for {row.name} are broken: {error}")
    database = namespace[-1] if namespace else parameters.get(_OLD_DATABASE, row.name.database)
    return LegacyView(
        name=row.name,
        writer=Writer.SPARK,
        dialect=Dialect.SPARK,
        sql=text or "",
        database=database.lower(),
        columns=columns,
        original=row.texts.original if row.texts.original != text else None,
        catalog=namespace[0] if namespace is not None and len(namespace) > 1 else None,
        query_columns=query_columns,
        comment=parameters.get("comment"),
        # Iceberg's catalog takes the session's ANSI mode.
        settings={ANSI: _default_ansi(parameters.get(_VERSION, "")), **settings_of_row(parameters)},
        schema_mode=parameters.get(_SCHEMA_MODE, ""),
        partitioned=bool(row.partition_keys),
        notes=_schema_mode_note(parameters.get(_SCHEMA_MODE, "")),
        repaired_sql=decode_mojibake(text or ""),
        problem=problem,
    )


def _schema_mode_note(mode: str) -> tuple[str, ...]:
    """Return a sentence about a view whose columns follow its tables (WITH SCHEMA [TYPE] EVOLUTION)."""
    if "EVOLUTION" not in mode:
        return ()
    return (f"WITH SCHEMA {mode} is not kept: the view keeps its columns until ALTER VIEW … RECOMPILE",)


def _default_ansi(version: str) -> str:
    """Return the ANSI mode with which Spark 4.1 reads a view that records none, by the Spark that created it.

    It is off for views of Spark 3 and earlier (`spark.sql.assumeAnsiFalseIfNotPersisted.enabled`), and that of the
    session, by default on, for views of Spark 4.
    """
    major = version.partition(".")[0]
    return "true" if major.isdecimal() and int(major) >= 4 else "false"


def _find_problem(row: Row, text: str | None, namespace: tuple[str, ...] | None) -> Problem | None:
    if not text:
        return Problem(Reason.NO_TEXT, f"the row of {row.name} has no view text")
    if row.is_metric_view:
        return Problem(Reason.UNSUPPORTED, "it is a metric view of Spark, whose definition is YAML and no query")
    if namespace is not None and len(namespace) > 2:
        return Problem(
            Reason.OTHER_CATALOG, f"its current namespace was {'.'.join(namespace)}, which is not a database"
        )
    settings = {key: row.parameters.get(ROW_PREFIX + key, "").lower() for key in _PARSER_SETTINGS}
    dependence = setting_dependence(text, lambda key: settings[key] == "true")
    if dependence is not None:
        key, _, reason = dependence
        return Problem(
            Reason.UNSUPPORTED,
            f"it was made under {key}=true, and {reason}: create it again without this setting, then plan again",
        )
    variable = None if row.parameters.get(ROW_PREFIX + _SUBSTITUTE, "").lower() == "false" else find_variable(text)
    if variable is not None:
        return Problem(
            Reason.UNSUPPORTED,
            f"plain Spark replaces {variable} in its text by the value of its reader's variable: create it again "
            "without variables, then plan again",
        )
    version = row.parameters.get(_VERSION)
    if version and not reads_doubled_quotes(version) and find_doubled_quote(text) is not None:
        return Problem(
            Reason.UNSUPPORTED,
            f"Spark {version} made it with a doubled quote in a literal, such as 'it''s', which "
            "Spark reads without the quote before 4.1 and with it since: create it again with \\' or without the "
            "quotes, then plan again",
        )
    collation = row.parameters.get(_COLLATION, _BINARY)
    if collation.upper() != _BINARY:
        return Problem(
            Reason.UNSUPPORTED,
            f"its strings have the default collation {collation}, which other readers do not apply: create it again "
            "with COLLATE in the query",
        )
    for field in schema_fields(row.parameters) or ():
        type_problem = _reason_against_type(field)
        if type_problem is not None:
            return Problem(Reason.TYPE, f"column {field['name']} {type_problem}")
    for key in _TEMPORARY:
        names = parse_json(row.parameters.get(key, "[]"))
        if names:
            return Problem(Reason.UNSUPPORTED, f"it reads temporary objects ({key}): {names}")
    return None


def _reason_against_type(field: Mapping[str, Any]) -> str | None:
    """Why readers of an Iceberg view would not get the type of a field; None if they would."""
    collations = field.get("metadata", {}).get(_COLLATIONS)
    if collations:
        return f"has a collation ({', '.join(sorted(set(map(str, collations.values()))))}), which Iceberg does not have"
    time = _TIME.search(spark_name_of_json(field["type"]))
    # Iceberg has a type for it, which Iceberg's Spark catalog (1.11) does not read.
    return None if time is None else f"is of type {time.group()}, which Spark does not read through Iceberg"


def _read_columns(row: Row) -> tuple[LegacyColumn, ...]:
    """Read the columns with the case of their names, which the row has in lower case."""
    fields = schema_fields(row.parameters)
    row_columns = declared_columns(row)
    if fields is None:
        return row_columns
    schema_columns = tuple(
        LegacyColumn(field["name"], spark_name_of_json(field["type"]), field.get("metadata", {}).get("comment"))
        for field in fields
    )
    if [(column.name, column.type) for column in row_columns] == [PLACEHOLDER]:
        return schema_columns
    if [column.name.lower() for column in schema_columns] != [column.name.lower() for column in row_columns]:
        # Another program (e.g. Hive's ALTER VIEW) changed the row since; readers use the columns of the row.
        return row_columns
    # The schema has CHAR and VARCHAR columns as strings; the row has their declared types.
    return tuple(
        LegacyColumn(
            schema_column.name,
            row_column.type if schema_column.type == "string" else schema_column.type,
            row_column.comment or schema_column.comment,
        )
        for schema_column, row_column in zip(schema_columns, row_columns, strict=True)
    )
