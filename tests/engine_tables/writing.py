"""Writing: answers as one compact file per engine."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

from hive_views.sql.types.call_types import Argument, Merging
from tests.engine_tables.asking import Answers
from tests.engine_tables.learning import Learner, Rule, merging_of
from tests.engine_tables.sampling import is_variadic


class Document:
    """The file of one engine; texts and entries that occur several times are written once.

    Args:
        engine: The engine.
        version: Its version.
        earlier: An earlier file, from which functions are taken that were not asked again.
    """

    def __init__(self, engine: str, version: str, earlier: Mapping[str, Any] | None = None) -> None:
        self._earlier = earlier
        self._sets: dict[str, int] = {}
        self._terms: dict[str, int] = {}
        self._entries: dict[str, int] = {}
        self._document: dict[str, Any] = {
            "engine": engine,
            "version": version,
            "names": {},
            "common": {},
            "fields": {},
            "forms": {},
            "casts": {},
        }
        self.unexplained: list[str] = []

    def add(self, rules: str, answers: Answers) -> None:
        """Add what was answered with one setting."""
        merging = {rule: merging_of(pairs, strings_first=rules == "legacy") for rule, pairs in answers.common.items()}
        self._document["common"][rules] = {rule: _merging_json(item) for rule, item in merging.items()}
        self._document["fields"][rules] = answers.fields
        self._document["forms"][rules] = answers.forms
        self._document["casts"][rules] = answers.casts
        names = self._kept(rules)
        for name, samples in answers.samples.items():
            learned = {}
            for count, accepted in samples.items():
                observations = [(tuple(item.argument for item in call), kind) for call, kind in accepted.items()]
                learner = Learner(observations, merging)
                found = learner.rules()
                if observations and learner.unexplained:
                    shown = [
                        (tuple(item.sql for item in call), kind)
                        for call, kind in accepted.items()
                        if tuple(item.kind for item in call) in learner.unexplained
                    ]
                    self.unexplained.append(f"{rules} {name}/{count}: {len(shown)} {shown[:3]}")
                if found:
                    learned[str(count)] = [self._rule(rule) for rule in found]
            counts = [count for count in samples if count <= 8]
            entry = {"counts": counts, "more": takes_more(name, samples), "rules": learned}
            names[name] = self._entries.setdefault(json.dumps(entry), len(self._entries))
        self._document["names"][rules] = names

    def _kept(self, rules: str) -> dict[str, int]:
        """Return the names of the earlier file, with the numbers of their entries in this one."""
        earlier = self._earlier
        if earlier is None:
            return {}
        names = {}
        for name, number in earlier["names"][rules].items():
            entry = earlier["entries"][number]
            learned = {
                count: [
                    self._rule(Rule(tuple(frozenset(earlier["sets"][item].split()) for item in kinds), term_of))
                    for kinds, term in listed
                    for term_of in [earlier["terms"][term]]
                ]
                for count, listed in entry["rules"].items()
            }
            kept = {"counts": entry["counts"], "more": entry["more"], "rules": learned}
            names[name] = self._entries.setdefault(json.dumps(kept), len(self._entries))
        return names

    def text(self) -> str:
        """Return the file's text."""
        document = {
            **self._document,
            "sets": list(self._sets),
            "terms": list(self._terms),
            "entries": [json.loads(entry) for entry in self._entries],
        }
        lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in document.items()]
        return "{" + ",\n".join(lines) + "}\n"

    def _rule(self, rule: Rule) -> list[Any]:
        sets = [" ".join(sorted(part)) for part in rule.kinds]
        numbers = [self._sets.setdefault(item, len(self._sets)) for item in sets]
        return [numbers, self._terms.setdefault(rule.term, len(self._terms))]


def takes_more(name: str, counts: Container[int]) -> bool:
    """Return whether a function that takes these numbers of arguments takes any number, or any even number."""
    return is_variadic(counts) or (12 in counts and name in ("map", "named_struct"))


def _merging_json(merging: Merging) -> Mapping[str, Any]:
    rows = {first: dict(sorted(row.items())) for first, row in sorted(merging.rows.items())}
    return {
        "rows": rows,
        "digits": merging.digits,
        "prefers_integral": merging.prefers_integral,
        "strings_first": merging.strings_first,
    }


__all__ = ["Argument", "Document", "takes_more"]
