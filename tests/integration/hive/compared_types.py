"""Tables with values of each type that `import compare` compares, written by Hive in several formats."""

from __future__ import annotations

from collections.abc import Iterator

DATABASE = "compared"
FORMATS = ("orc", "textfile", "parquet")

_VALUES: tuple[tuple[str, str, str], ...] = (
    ("flag", "boolean", "true; false; NULL; true; true; false; true; true"),
    ("tiny", "tinyint", "127; -128; NULL; 0; 1; 1; 1; 1"),
    ("small", "smallint", "32767; -32768; NULL; 0; 1; 1; 1; 1"),
    ("number", "int", "2147483647; -2147483648; NULL; 0; 1; 1; 1; 1"),
    ("big", "bigint", "9223372036854775807; -9223372036854775808; NULL; 0; 1; 1; 1; 1"),
    ("single", "float", "1.1; '-0.0'; NULL; 'NaN'; 'Infinity'; '3.4028235E38'; '1.4E-45'; '0.1'"),
    ("dbl", "double", "1.1; '-0.0'; NULL; 'NaN'; '-Infinity'; '1.7976931348623157E308'; '4.9E-324'; '1E23'"),
    ("price", "decimal(10,2)", "1.50; -0.50; NULL; 0; 100; 1234567.89; 0.01; 0.1"),
    ("tiny_price", "decimal(10,7)", "0.0000001; -0.0000001; NULL; 0; 100; 123.4567891; 0.1; 10"),
    (
        "wide",
        "decimal(38,18)",
        "0.000000000000000001; 12345678901234567890.123456789012345678; NULL; 0; 100; 1; 0.1; -0.1",
    ),
    ("whole", "decimal(38,0)", "99999999999999999999999999999999999999; -1; NULL; 0; 100; 1; 1; 10"),
    ("text", "string", "'é|x '; ''; NULL; '\\ttab'; '100'; '😀'; 'null'; 'a\\\\b'"),
    ("short", "varchar(5)", "'ab '; ''; NULL; ' a'; '100'; '😀'; 'a'; 'a'"),
    ("padded", "char(5)", "'ab'; ''; NULL; ' a'; '100'; '😀'; 'a'; 'a'"),
    ("bytes", "binary", "'é'; ''; NULL; '\\t'; 'x'; 'x'; 'x'; 'x'"),
    (
        "day",
        "date",
        "'2020-02-29'; '1582-10-15'; NULL; '1600-01-01'; '9999-12-31'; '1970-01-01'; '1900-01-01'; '1969-12-31'",
    ),
    (
        "moment",
        "timestamp",
        "'2020-02-29 12:34:56.123456'; '1970-01-01 00:00:00'; NULL; '1900-01-01 00:00:00.1'; "
        "'9999-12-31 23:59:59.999'; '1969-12-31 23:59:59.000001'; '2038-01-19 03:14:07'; '2024-10-27 02:30:00'",
    ),
)
_NESTED = (
    ("items", "array<double>", "array(cast(1.5 as double), cast(NULL as double), cast('NaN' as double))"),
    (
        "prices",
        "map<string,decimal(10,2)>",
        "map('a', cast(1.50 as decimal(10,2)), 'b', cast(NULL as decimal(10,2)))",
    ),
    (
        "part",
        "struct<f:int,g:string,h:array<struct<k:string,l:array<int>>>>",
        "named_struct('f', 1, 'g', 'x|', 'h', array(named_struct('k', 'a', 'l', array(1, 2)), "
        "named_struct('k', 'b', 'l', array(3))))",
    ),
    (
        "moments",
        "map<int,struct<z:timestamp>>",
        "map(1, named_struct('z', cast('2020-01-01 00:00:00.5' as timestamp)))",
    ),
)
COLUMNS = tuple((name, type_text) for name, type_text, _ in (*_VALUES, *_NESTED))
"""Names and types."""
ROWS = 9
"""The number of rows; in one all but `number` is NULL."""


def statements() -> Iterator[str]:
    """Yield the statements that create and fill the tables."""
    columns = ", ".join(f"`{name}` {type_text}" for name, type_text in COLUMNS)
    values = [[f"cast({value} as {kind})" for value in texts.split("; ")] for _, kind, texts in _VALUES]
    nested = [text for _, _, text in _NESTED]
    rows = [f"select {', '.join([*row, *nested])}" for row in zip(*values, strict=True)]
    yield f"create database {DATABASE}"
    for name in FORMATS:
        yield f"create external table {DATABASE}.{name}s ({columns}) stored as {name}"
        yield f"insert into {DATABASE}.{name}s {' union all '.join(rows)}"
        yield f"insert into {DATABASE}.{name}s (number) select 5"
