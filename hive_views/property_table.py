"""Properties as data: how the text of each is read, its default, and its row in the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hive_views.errors import InvalidPropertyError

Parser = Callable[[str, str], Any]
"""Returns the value of a key's text; raises InvalidPropertyError."""


@dataclass(frozen=True, kw_only=True)
class Property:
    """A property of a catalog or view, or several with one row in the documentation."""

    keys: tuple[str, ...]
    """The keys; most have one."""
    meaning: str
    """The description in the documentation, as Markdown."""
    default: Any = None
    """The value if the key is not set."""
    shown_default: str | None = None
    """The default in the documentation; None for the text of `default`."""
    parse: Parser = lambda _, text: text
    hidden_keys: tuple[str, ...] = ()
    """Further keys, which only `meaning` names."""

    def of(self, properties: Mapping[str, str], key: str | None = None) -> Any:
        """Return the value of a property; raises InvalidPropertyError."""
        key = key or self.keys[0]
        text = properties.get(key)
        return self.default if text is None else self.parse(key, text)

    def stored(self, properties: Mapping[str, str]) -> Any:
        """Return the value of a stored property; the default if it is invalid, as another program may have set it."""
        try:
            return self.of(properties)
        except InvalidPropertyError:
            return self.default

    def check(self, properties: Mapping[str, str]) -> None:
        """Raise InvalidPropertyError if a value is invalid."""
        for key in (*self.keys, *self.hidden_keys):
            self.of(properties, key)

    @property
    def documented_default(self) -> str:
        """The default in the documentation."""
        if self.shown_default is not None:
            return self.shown_default
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "" if self.default is None else str(self.default)


def rows_of(properties: Iterable[Property], heading: str) -> Iterator[str]:
    """Yield the lines of the table of some properties, as Markdown."""
    yield f"| property | default | {heading} |"
    yield "|---|---|---|"
    for item in properties:
        keys, default = ", ".join(f"`{key}`" for key in item.keys), item.documented_default
        yield f"| {keys} | {default} | {item.meaning} |" if default else f"| {keys} | | {item.meaning} |"


def truth(key: str, text: str) -> bool:
    """Read `true` or `false`, in any case."""
    if str(text).lower() not in ("true", "false"):
        raise InvalidPropertyError(key, text, "it must be true or false")
    return str(text).lower() == "true"


def whole(least: int | None = 0) -> Parser:
    """Return a parser of whole numbers from `least` on."""

    def parse(key: str, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise InvalidPropertyError(key, text, "it must be a whole number") from None
        if least is not None and number < least:
            raise InvalidPropertyError(key, text, f"it must be at least {least}")
        return number

    return parse


def choice(*words: str) -> Parser:
    """Return a parser of one of some words, in any case; an empty text is the first."""

    def parse(key: str, text: str) -> str:
        word = text or words[0]
        if word.lower() not in words:
            raise InvalidPropertyError(key, word, f"it must be one of {', '.join(words)}")
        return word.lower()

    return parse


def text_or(default: str) -> Parser:
    """Return a parser of texts, for which an empty one is the default."""
    return lambda _, text: text or default
