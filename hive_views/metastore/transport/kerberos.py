"""Kerberos, with the package `gssapi` and MIT's library: the mechanism of SASL, and the tokens of HTTP requests.

The server's principal is by default `service/host`, with the host of its URI.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from hive_views.config import KEYTAB_FILE, KEYTAB_PRINCIPAL, KerberosCredentials
from hive_views.kerberos_names import Rule, short_name
from hive_views.metastore.transport.failures import SecurityFailure

_AUTH, _INTEGRITY, _PRIVACY = 1, 2, 4
"""The protection of frames: none, a signature, encryption (RFC 4752, section 3.3)."""


class Kerberos:
    """The mechanism of SASL (GSSAPI, RFC 4752)."""

    name = "GSSAPI"

    def __init__(self, credentials: KerberosCredentials, host: str) -> None:
        library = self._gssapi = _load_gssapi()
        self._service, target = _service_name(library, credentials, host)
        self._rules = credentials.name_rules
        self._limit = 0
        self._level = _AUTH
        self._is_agreed = False
        flags = library.RequirementFlag
        self._context = library.SecurityContext(
            name=target,
            usage="initiate",
            mech=library.MechType.kerberos,
            creds=_own_credentials(library, credentials),
            flags=[
                flags.mutual_authentication,
                flags.integrity,
                flags.confidentiality,
                flags.out_of_sequence_detection,
            ],
        )

    @property
    def user(self) -> str | None:
        return _short_name(self._gssapi, self._context.initiator_name, self._rules)

    def respond(self, challenge: bytes) -> bytes:
        try:
            if not self._context.complete:
                step = f"get a ticket for {self._service}" if not challenge else f"check {self._service}"
                token: bytes | None = self._context.step(challenge or None)
                return token or b""
            step = "agree on protection"
            return b"" if self._is_agreed else self._agree(self._context.unwrap(challenge).message)
        except self._gssapi.exceptions.GSSError as error:
            raise SecurityFailure(step, _explain(error)) from error

    def _agree(self, offer: bytes) -> bytes:
        """Choose the strongest protection that the server offers (RFC 4752, section 3.1)."""
        if len(offer) != 4:
            raise SecurityFailure("agree on protection", "the server's offer is malformed")
        self._level = next((level for level in (_PRIVACY, _INTEGRITY, _AUTH) if offer[0] & level), 0)
        if not self._level:
            raise SecurityFailure("agree on protection", f"the server offers no known one ({offer[0]})")
        self._limit = self._context.get_wrap_size_limit(
            int.from_bytes(offer[1:], "big") or 65536, self._level == _PRIVACY
        )
        self._is_agreed = True
        size = 0 if self._level == _AUTH else 0xFFFFFF
        choice: bytes = self._context.wrap(bytes([self._level]) + size.to_bytes(3, "big"), False).message
        return choice

    def wrap(self, data: bytes) -> list[bytes]:
        if self._level == _AUTH:
            return [data]
        parts = (data[start : start + self._limit] for start in range(0, len(data), self._limit))
        try:
            return [self._context.wrap(part, self._level == _PRIVACY).message for part in parts]
        except self._gssapi.exceptions.GSSError as error:
            # Usually the ticket has expired: a new connection either reports that or uses a new ticket.
            raise ConnectionError(f"the request cannot be encrypted: {error}") from error

    def unwrap(self, frame: bytes) -> bytes:
        if self._level == _AUTH:
            return frame
        try:
            unwrapped = self._context.unwrap(frame)
        except self._gssapi.exceptions.GSSError as error:
            raise ConnectionError(f"a frame of the answer was changed in transit: {error}") from error
        if self._level == _PRIVACY and not unwrapped.encrypted:
            raise ConnectionError("a frame of the answer is not encrypted, although encryption was agreed on")
        data: bytes = unwrapped.message
        return data


class Negotiation:
    """Kerberos over HTTP (SPNEGO, RFC 4559): each request has a token in its header.

    The server may prove who it is by a token in its response, which is checked; one that sends none is accepted.
    """

    name = "Negotiate"
    _SPNEGO = "1.3.6.1.5.5.2"

    def __init__(self, credentials: KerberosCredentials, host: str) -> None:
        self._gssapi = _load_gssapi()
        self._credentials = credentials
        self._service, self._target = _service_name(self._gssapi, credentials, host)
        self._context: Any = None
        self.user: str | None = None
        """The user whom the server sees; known after the first token."""

    def header(self) -> str:
        """Return the value of the header `Authorization` for one request: servers refuse a token that they had."""
        library = self._gssapi
        try:
            own = _own_credentials(library, self._credentials)
            self._context = library.SecurityContext(
                name=self._target,
                usage="initiate",
                mech=library.OID.from_int_seq(self._SPNEGO),
                creds=own,
                flags=[library.RequirementFlag.mutual_authentication],
            )
            token = self._context.step()
            if self.user is None:
                # The context has no name before the server's answer.
                principal = (own or library.Credentials(usage="initiate")).name
                self.user = _short_name(library, principal, self._credentials.name_rules)
        except library.exceptions.GSSError as error:
            raise SecurityFailure(f"get a ticket for {self._service}", _explain(error)) from error
        return f"{self.name} {base64.b64encode(token).decode()}"

    def check(self, challenges: Sequence[str]) -> None:
        """Check the token of the server, in the headers `WWW-Authenticate` of the response to the last request."""
        scheme = f"{self.name} ".lower()
        tokens = [text[len(scheme) :] for text in map(str.strip, challenges) if text.lower().startswith(scheme)]
        for token in tokens:
            try:
                self._context.step(base64.b64decode(token, validate=True))
                reason = "" if self._context.complete else "incomplete"  # raises an error that `step` has kept
            except (self._gssapi.exceptions.GSSError, ValueError) as error:
                reason = " ".join(str(error).split())
            if reason:
                explanation = f"its token is not from the server of that name, so its answer is not trusted ({reason})"
                raise SecurityFailure(f"check {self._service}", explanation)


def _load_gssapi() -> Any:
    try:
        import gssapi
    except ImportError as error:
        raise SecurityFailure(
            "load Kerberos", f"the package gssapi cannot be used ({error}): pip install 'hive_views[kerberos]'"
        ) from error
    return gssapi


def _service_name(library: Any, credentials: KerberosCredentials, host: str) -> tuple[str, Any]:
    """Return the principal of the server at a host, for messages and for the library."""
    if credentials.service_principal is not None:
        principal = credentials.service_principal.replace("_HOST", host.lower())
        return principal, library.Name(principal, library.NameType.kerberos_principal)
    name = library.Name(f"{credentials.service}@{host}", library.NameType.hostbased_service)
    return f"{credentials.service}/{host}", name


def _short_name(library: Any, principal: Any, rules: tuple[Rule, ...]) -> str | None:
    """Return the user's name that Hadoop makes of a principal."""
    # The name without a realm gets the default realm of krb5.conf.
    default = library.Name("x", library.NameType.user).canonicalize(library.MechType.kerberos)
    return short_name(str(principal), rules, str(default).partition("@")[2])


_EXPIRED = "Ticket expired"
"""MIT's text for an expired ticket; its minor code is another one within SPNEGO."""


def _explain(error: Any) -> str:
    reason = " ".join(str(error).split())
    if _EXPIRED in reason:
        return (
            f"the ticket has expired ({reason}). `kinit` gets a new one, `kinit -R` renews one; programs that run "
            f"longer than a ticket lasts connect with a keytab ({KEYTAB_FILE}, {KEYTAB_PRINCIPAL})"
        )
    return f"{reason}. `klist` shows your tickets, `kinit` gets one"


def _own_credentials(library: Any, credentials: KerberosCredentials) -> Any:
    """Return the credentials of a keytab; None for the tickets of `kinit`.

    The library gets and renews the tickets of a keytab, in a cache of this process.
    """
    keytab = credentials.keytab
    if keytab is None:
        return None
    cache = hashlib.sha256(f"{keytab.principal} {keytab.file}".encode()).hexdigest()[:16]
    store = {"client_keytab": keytab.file, "ccache": f"MEMORY:hive_views_{cache}"}
    try:
        name = library.Name(keytab.principal, library.NameType.kerberos_principal)
        return library.Credentials(usage="initiate", name=name, store=store)
    except library.exceptions.GSSError as error:
        reason = " ".join(str(error).split())
        raise SecurityFailure(
            f"get a ticket for {keytab.principal} with its keytab",
            f"{reason}. `klist -k {keytab.file}` shows the principals in the keytab",
        ) from error
