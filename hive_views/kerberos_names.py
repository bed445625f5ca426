"""The short name of a Kerberos principal, by which a server knows a user.

The rules are those of Hadoop (`hadoop.security.auth_to_local`; KerberosName of hadoop-auth 3.4), except that a
principal without a rule keeps its whole name: the server refuses its user.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PRINCIPAL = re.compile(r"([^/@]+)(?:/([^/@]+))?(?:@([^/@]+))?")
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:\[(\d+):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?/?(L)?)(?=\s|$)")


class Rule(NamedTuple):
    """A rule of Hadoop: `DEFAULT`, or `RULE:[components:format](pattern)s/search/replacement/gL`."""

    components: int | None
    """The number of components, without the realm, of the principals it applies to; None for `DEFAULT`."""
    format: str = ""
    """The text to match, with `$0` for the realm and `$1`, `$2` for the components."""
    pattern: str | None = None
    """A regular expression for the whole text."""
    search: str | None = None
    """A regular expression for the part to replace."""
    replacement: str = ""
    is_global: bool = False
    is_lower: bool = False

    def apply(self, components: tuple[str, ...], realm: str, default_realm: str | None) -> str | None:
        """Return the short name of a principal, or None if the rule does not apply."""
        if self.components is None:
            return components[0] if realm == default_realm else None
        if self.components != len(components):
            return None
        values = (realm, *components)
        text = re.sub(
            r"\$(\d)", lambda match: values[int(match[1])] if int(match[1]) < len(values) else "", self.format
        )
        if self.pattern is not None and not re.fullmatch(self.pattern, text):
            return None
        if self.search is not None:
            replacement = re.sub(r"\$(\d)", r"\\g<\1>", self.replacement)
            text = re.sub(self.search, replacement, text, count=0 if self.is_global else 1)
        return text.lower() if self.is_lower else text


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Parse rules that are separated by white space; raises ValueError."""
    rules = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None:
            raise ValueError(f"{text[position:].strip()[:40]!r} is neither DEFAULT nor of the form RULE:[n:…](…)s/…/…/")
        default, components, shape, pattern, search, replacement, is_global, is_lower = match.groups()
        position = match.end()
        for expression in filter(None, (pattern, search)):
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"{expression!r} is no regular expression: {error}") from None
        number = None if default else int(components)
        rules.append(Rule(number, shape, pattern, search, replacement or "", bool(is_global), bool(is_lower)))
    return tuple(rules)


def short_name(principal: str, rules: tuple[Rule, ...], default_realm: str | None) -> str:
    """Return the name of a principal at the server; the principal itself if no rule applies to it."""
    match = _PRINCIPAL.fullmatch(principal)
    if match is None:
        return principal
    service, host, realm = match.groups()
    if realm is None:
        return principal if host else service
    components = (service,) if host is None else (service, host)
    for rule in rules:
        name = rule.apply(components, realm, default_realm)
        if name is not None:
            return principal if not name or re.search("[/@]", name) else name
    return principal
