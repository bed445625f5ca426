"""Delegation tokens: connections as another user, and connections of processes that have no ticket.

A metastore gives a client that authenticated by Kerberos a token for its own user, or for one for whom the client may
act (Hadoop's `hadoop.proxyuser.<user>.hosts` and `.groups` in the metastore's configuration). Hive's clients act for
others in this way (HiveMetaStoreClient, `HADOOP_PROXY_USER`): SASL names no second user to a metastore.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from time import monotonic

from thrift.Thrift import TException

from hive_views.config import (
    PROXY_USER,
    Authentication,
    ConnectionConfig,
    KerberosCredentials,
    Secret,
    SecretCredentials,
)
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.failures import SecurityFailure

MAX_TOKEN_SECONDS = 12 * 3600.0
"""Tokens are replaced at this age: a metastore forgets one that is not renewed for a day
(`hive.cluster.delegation.token.renew-interval`)."""


class DelegationTokens:
    """The tokens of one client, one for each metastore, because each may keep its tokens in its own memory."""

    def __init__(self, config: ConnectionConfig, credentials: KerberosCredentials) -> None:
        self._config = config
        self._credentials = credentials
        self._lock = threading.Lock()
        self._tokens: dict[str, tuple[str, float]] = {}

    def open(self, uri: str) -> Connection:
        """Connect as the owner of the tokens."""
        token = self._known(uri)
        if token is not None:
            try:
                return Connection.open(uri, self._with_token(token))
            except SecurityFailure:
                self._forget(uri, token)  # expired, or the metastore was started again
        return Connection.open(uri, self._with_token(self.token(uri)))

    def token(self, uri: str) -> str:
        """Return a token for the proxy user, or for the own user if there is none, from a metastore.

        Raises:
            SecurityFailure: If the metastore gives none.
        """
        known = self._known(uri)
        if known is not None:
            return known
        direct = self._config._replace(credentials=replace(self._credentials, proxy_user=None))
        connection = Connection.open(uri, direct)
        try:
            owner = self._credentials.proxy_user or connection.user
            token = str(connection.client.get_delegation_token(owner, owner))
        except TException as error:
            reason = str(getattr(error, "message", None) or error).strip() or type(error).__name__
            hint = (
                f" {connection.user} may act for others by hadoop.proxyuser.{connection.user}.hosts and "
                f".groups in the metastore's configuration ({PROXY_USER})"
                if self._credentials.proxy_user
                else ""
            )
            raise SecurityFailure(f"get a delegation token for {owner}", f"{reason}.{hint}") from error
        finally:
            connection.close()
        with self._lock:
            self._tokens[uri] = (token, monotonic())
        return token

    def _known(self, uri: str) -> str | None:
        with self._lock:
            token, since = self._tokens.get(uri, ("", 0.0))
        return token if token and monotonic() - since < MAX_TOKEN_SECONDS else None

    def _forget(self, uri: str, token: str) -> None:
        with self._lock:
            if self._tokens.get(uri, ("", 0.0))[0] == token:
                del self._tokens[uri]

    def _with_token(self, token: str) -> ConnectionConfig:
        credentials = SecretCredentials(Authentication.TOKEN, Secret(token), name_rules=self._credentials.name_rules)
        return self._config._replace(credentials=credentials)
