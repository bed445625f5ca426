"""The dialects of SQL texts, and how each writes names, strings and comments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hive_views.errors import SqlError


class Dialect(str, Enum):
    """The dialect of a text; its value is the name that is stored in metadata and given by users."""

    HIVE = "hive"
    SPARK = "spark"
    TRINO = "trino"

    def __str__(self) -> str:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    @classmethod
    def of(cls, name: str) -> Dialect:
        """Return the dialect with a name; raises SqlError if there is none."""
        try:
            return cls(name)
        except ValueError:
            pass
        raise SqlError(f"Unknown SQL dialect {name!r}: choose one of {', '.join(cls)}", name=name)

    @property
    def of_row(self) -> Dialect:
        """The dialect of the text in a view's row, which is generated from the author's text."""
        return Dialect.SPARK if self is Dialect.SPARK else Dialect.HIVE


@dataclass(frozen=True)
class Syntax:
    """How a dialect writes the tokens of a text."""

    quote: str = "`"
    """The quote around names."""
    name_quotes: str = "`"
    """The quotes around names in statements."""
    string_quotes: str = "'\""
    """The quotes around strings."""
    has_backslashes: bool = True
    """Whether a backslash escapes a character of a string; else a doubled quote does."""
    has_long_escapes: bool = False
    """Whether strings have escapes with eight digits."""
    joins_strings: bool = True
    """Whether adjacent strings are one string."""
    has_doubled_quotes: bool = False
    """Whether a quote that is doubled in a string is a quote, although a backslash escapes."""
    continues_comments: bool = False
    """Whether a comment continues on the next line after a backslash at the end of the line."""
    has_pipes: bool = False
    """Whether queries have pipe operators (`|>`)."""
    unsubstituted: str | None = None
    """The statement that keeps the engine from replacing `${name}` before it reads a text."""


SYNTAX = {
    Dialect.HIVE: Syntax(unsubstituted="SET hive.variable.substitute=false"),
    Dialect.SPARK: Syntax(
        has_long_escapes=True,
        has_doubled_quotes=True,
        continues_comments=True,
        has_pipes=True,
        unsubstituted="SET spark.sql.variable.substitute=false",
    ),
    Dialect.TRINO: Syntax(quote='"', name_quotes='`"', string_quotes="'", has_backslashes=False, joins_strings=False),
}
"""The rules of each dialect. Measured on Spark 4.1.4, Hive 2.3.10 and Hive 4.1.0, and Trino 483."""
