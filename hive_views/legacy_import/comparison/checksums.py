"""Checksums of a query's rows that Hive, Spark and Trino compute alike. Pure text: nothing here runs a query.

Each value gets a text that is equal in all engines if the values are (`_text`). A checksum is the sum of the first 60
bits of the MD5 of these texts, so it does not depend on the order of rows. CRC32 would be cheaper, but it is linear:
two rows that exchange parts of their values may have the same sum.

Hive has no function that takes a function, so the elements of arrays and maps are rows of a relation of their own, in
which each is next to the hash of the row that contains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.types.hive_types import INTEGERS, STRINGS, TIMES, arguments, base, decimal, written_fields

ROW = "row"
"""The name of the checksum over all columns of a row, which also shows values that moved to another row."""

_TRAILING_ZEROS = "[.]0*$|([.][0-9]*[1-9])0+$"


@dataclass(frozen=True, kw_only=True)
class EngineForms:
    """How an engine writes what the checksums need. `{0}` is a value, or a text."""

    quote: str
    string: str
    """Cast to a text."""
    boolean: str = "CASE WHEN {0} THEN '1' WHEN NOT {0} THEN '0' END"
    decimal: str = "regexp_replace({string}, '" + _TRAILING_ZEROS + "', '$1')"
    """Without zeros at the end of the fraction; `{string}` is the value as text, `{scale}` its scale."""
    double: str = "printf('%.11e', {0})"
    """With 12 digits: all three engines are written in Java, and call its `Formatter`."""
    float: str = "printf('%.5e', CAST({0} AS DOUBLE))"
    char: str = "rtrim({string})"
    """Without the blanks that pad it."""
    binary: str = "hex({0})"
    zoned: str = "CAST(CAST({0} AS TIMESTAMP) AS STRING)"
    """A timestamp with local time zone as the session's wall clock shows it."""
    size: str = "size({0})"
    hash: str = "md5({0})"
    """The MD5 of a text, as lower-case hex digits."""
    number: str = "CAST(conv({0}, 16, 10) AS DECIMAL(38, 0))"
    """A number of at most 15 hex digits."""
    elements: str = "LATERAL VIEW posexplode({0}) {alias} AS {key}, {value}"
    entries: str = "LATERAL VIEW explode({0}) {alias} AS {key}, {value}"


FORMS = {
    Dialect.HIVE: EngineForms(quote="`", string="CAST({0} AS STRING)"),
    Dialect.SPARK: EngineForms(
        quote="`",
        string="CAST({0} AS STRING)",
        # A cast to a text gives `1E-7`.
        decimal="regexp_replace(replace(format_number({0}, {scale}), ',', ''), '" + _TRAILING_ZEROS + "', '$1')",
        double="format_string('%.11e', {0})",
        float="format_string('%.5e', CAST({0} AS DOUBLE))",
    ),
    Dialect.TRINO: EngineForms(
        quote='"',
        string="CAST({0} AS VARCHAR)",
        double="format('%.11e', {0})",
        float="format('%.5e', CAST({0} AS DOUBLE))",
        # Trino's rtrim removes more than blanks.
        char="regexp_replace({string}, ' +\\z', '')",
        binary="to_hex({0})",
        zoned="CAST(CAST({0} AT TIME ZONE current_timezone() AS TIMESTAMP(9)) AS VARCHAR)",
        size="cardinality({0})",
        hash="lower(to_hex(md5(to_utf8({0}))))",
        number="CAST(from_base({0}, 16) AS DECIMAL(38, 0))",
        # UNNEST makes a column of each field of a row, unless the row is in another one.
        elements="CROSS JOIN UNNEST(transform({0}, item -> ROW(item))) WITH ORDINALITY AS {alias} ({value}, {key})",
        entries="CROSS JOIN UNNEST({0}) AS {alias} ({key}, {value})",
    ),
}
"""Measured on Hive 4.1.0, Spark 4.1.4 and Trino 483 by tests/integration/hive and tests/integration/trino."""


@dataclass(frozen=True)
class Relation:
    """The rows of a view, or of the elements of one of its arrays or maps, as columns of texts."""

    name: str
    """Empty for the view itself, otherwise the path of the array or map, such as `tags` or `lines.sku`."""
    columns: tuple[str, ...]
    """The names of the texts: the view's columns, or the row's hash, the position or key, and the element."""
    sql: str
    """The query: columns `c0`, `c1` … with the texts."""
    forms: EngineForms
    """The forms of its engine."""

    @property
    def _names(self) -> list[str]:
        return [f"c{number}" for number in range(len(self.columns))]

    def _rows(self, condition: str | None = None) -> str:
        """Return a query for the texts and `r`, the hash of all of them; NULL where a condition on `r` is false.

        A condition in WHERE would do, but Hive 4.1.0 ignores it in front of a LATERAL VIEW with these expressions.
        """
        rows = f"SELECT {', '.join(self._names)}, {_hash_of(self._names, self.forms)} AS r FROM ({self.sql}) t"
        if condition is None:
            return rows
        kept = ", ".join(f"CASE WHEN {condition} THEN {name} END AS {name}" for name in (*self._names, "r"))
        return f"SELECT {kept} FROM ({rows}) u"

    def checksum_query(self, sample: int | None = None) -> str:
        """Return a query for one row: the number of rows, and the numbers of values and checksums of columns and rows.

        Args:
            sample: Only rows of which the number of the hash is divisible by this.
        """
        condition = None if sample is None else f"{self._number('r', 1, 8)} % {sample} = 0"
        sums = [f"count({name}), {self._sum_of(self.forms.hash.format(name))}" for name in self._names]
        return f"SELECT count(r), {', '.join([*sums, self._sum_of('r')])} FROM ({self._rows(condition)}) s"

    def bucket_query(self, prefixes: Sequence[str], digits: int) -> str:
        """Return a query for the rows whose hash begins with one of some prefixes, counted by its first digits.

        Without prefixes it counts all rows. The group whose digits are NULL is that of the other rows.
        """
        bucket, rows = f"substr(r, 1, {digits})", self._rows(_begins_with(prefixes))
        return f"SELECT {bucket}, count(r), {self._sum_of('r')} FROM ({rows}) s GROUP BY {bucket}"

    def rows_query(self, prefixes: Sequence[str], limit: int) -> str:
        """Return a query for the texts of rows whose hash begins with one of some prefixes, each with its number.

        The row whose hash is NULL stands for the other rows.
        """
        names = ", ".join(self._names)
        return (
            f"SELECT r, count(r), {names} FROM ({self._rows(_begins_with(prefixes))}) s GROUP BY r, {names} "
            f"ORDER BY r LIMIT {limit + 1}"
        )

    def _sum_of(self, hash_text: str) -> str:
        return self.forms.string.format(f"sum({self._number(hash_text, 1, 15)})")

    def _number(self, hash_text: str, start: int, length: int) -> str:
        return self.forms.number.format(f"substr({hash_text}, {start}, {length})")


def _begins_with(prefixes: Sequence[str]) -> str | None:
    """Return a condition for hashes that begin with one of some prefixes of one length; None for all."""
    if not prefixes:
        return None
    listed = ", ".join(f"'{prefix}'" for prefix in prefixes)
    return f"substr(r, 1, {len(prefixes[0])}) IN ({listed})"


@dataclass(frozen=True)
class _Nested:
    """An array or map in a row or an element."""

    path: str
    value: str
    type_text: str


def relations(source: str, columns: Sequence[tuple[str, str]], dialect: Dialect) -> tuple[Relation, ...]:
    """Return the relations of a query: the query itself, and one for each array and map in its columns.

    Args:
        source: The name of a table, or a query in parentheses.
        columns: The names and Hive's types of the columns; those of `uncompared` must not be among them.
        dialect: The engine.
    """
    forms = FORMS[dialect]
    values = [(name, f"v.{quote_identifier(name, forms.quote)}", type_text) for name, type_text in columns]
    texts = [_text(value, type_text, forms) for _, value, type_text in values]
    listed = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
    own = Relation("", tuple(name for name, _ in columns), f"SELECT {listed} FROM {source} v", forms)
    nested = [item for name, value, type_text in values for item in _nested(name, value, type_text, forms.quote)]
    row = _hash_of(texts, forms)
    return (own, *_element_relations(source, row, "", nested, forms, count()))


def uncompared(columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of columns of types that have no common text, such as intervals and unions."""
    return tuple(name for name, type_text in columns if not _is_comparable(type_text))


def _element_relations(
    source: str, row: str, joins: str, pending: Sequence[_Nested], forms: EngineForms, numbers: Iterator[int]
) -> Iterator[Relation]:
    for item in pending:
        number = next(numbers)
        key, value = f"k{number}", f"x{number}"
        inner = arguments(item.type_text)
        is_map = base(item.type_text) == "map"
        form = forms.entries if is_map else forms.elements
        joined = f"{joins} {form.format(item.value, alias=f'e{number}', key=key, value=value)}"
        key_text = _text(key, inner[0], forms) if is_map else _position(key, forms)
        texts = (row, key_text, _text(value, inner[-1], forms))
        listed = ", ".join(f"{text} AS c{place}" for place, text in enumerate(texts))
        columns = (ROW, "key" if is_map else "position", "value")
        yield Relation(item.path, columns, f"SELECT {listed} FROM {source} v{joined}", forms)
        deeper = list(_nested(item.path, value, inner[-1], forms.quote))
        # An element's hash takes the place of the row's: it contains it.
        yield from _element_relations(source, _hash_of(texts, forms), joined, deeper, forms, numbers)


def _position(key: str, forms: EngineForms) -> str:
    """Return an element's position, which Trino counts from 1, as a text."""
    return forms.string.format(f"({key} - 1)" if forms is FORMS[Dialect.TRINO] else key)


def _nested(path: str, value: str, type_text: str, quote: str) -> Iterator[_Nested]:
    """Yield the arrays and maps of a value that are not in another one."""
    if base(type_text) in ("array", "map"):
        yield _Nested(path, value, type_text)
    for name, inner in written_fields(type_text) or ():
        yield from _nested(f"{path}.{name}", f"{value}.{quote_identifier(name, quote)}", inner, quote)


def _hash_of(texts: Sequence[str], forms: EngineForms) -> str:
    """Return the hash of several texts, in which a missing one differs from every other."""
    hashes = ", ".join(f"coalesce({forms.hash.format(text)}, '-')" for text in texts)
    return forms.hash.format(f"concat({hashes}, '')")


def _listed(texts: Sequence[str]) -> str:
    """Return an expression for several texts as one, from which they can be told apart."""
    items = ", '|,', ".join(f"coalesce(concat('=', replace({text}, '|', '||')), '-')" for text in texts)
    return f"concat({items}, '')"


def _text(value: str, type_text: str, forms: EngineForms) -> str:
    """Return an expression for the text of a value; NULL for NULL. For an array or a map it is the size."""
    name = base(type_text)
    string = forms.string.format(value)
    if name == "boolean":
        return forms.boolean.format(value)
    if name in INTEGERS or name in ("date", "string", "varchar"):
        return string
    if name == "char":
        return forms.char.format(value, string=string)
    if name == "decimal":
        _, scale = decimal(type_text) or (0, 0)
        return forms.decimal.format(value, string=string, scale=scale) if scale else string
    if name in ("double", "float"):
        form = forms.double if name == "double" else forms.float
        # One zero: -0.0 equals 0.0.
        return f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} = 0 THEN '0' ELSE {form.format(value)} END"
    if name == "timestamp":
        return _without_zeros(string)
    if name == "timestamp with local time zone":
        return _without_zeros(forms.zoned.format(value))
    if name == "binary":
        return forms.binary.format(value)
    if name == "struct":
        fields = [
            _text(f"{value}.{quote_identifier(field, forms.quote)}", inner, forms)
            for field, inner in written_fields(type_text) or ()
        ]
        return f"CASE WHEN {value} IS NOT NULL THEN {_listed(fields)} END"
    return f"CASE WHEN {value} IS NOT NULL THEN {forms.string.format(forms.size.format(value))} END"


def _without_zeros(text: str) -> str:
    return f"regexp_replace({text}, '{_TRAILING_ZEROS}', '$1')"


_SIMPLE = frozenset({*INTEGERS, *STRINGS, *TIMES, "boolean", "decimal", "double", "float", "binary"})


def _is_comparable(type_text: str) -> bool:
    name = base(type_text)
    if name == "struct":
        return all(_is_comparable(inner) for _, inner in written_fields(type_text) or ())
    if name in ("array", "map"):
        return all(map(_is_comparable, arguments(type_text)))
    return name in _SIMPLE or name == "timestamp with local time zone"
