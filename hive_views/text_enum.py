"""Enumerations whose members are their texts, as `enum.StrEnum` of Python 3.11."""

from __future__ import annotations

from enum import Enum


class TextEnum(str, Enum):
    """A vocabulary: a member equals its text, is printed as it, and is stored as it in JSON."""

    def __str__(self) -> str:
        return str.__str__(self)

    def __format__(self, spec: str) -> str:
        return str.__format__(self, spec)
