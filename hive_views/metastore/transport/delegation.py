"""Delegation tokens: connections as another user, and connections of processes that have no ticket.

A metastore gives a client that authenticated by Kerberos a token for its own user, or for one for whom the client may
act (Hadoop's `hadoop.proxyuser.<user>.hosts` and `.groups` in the metastore's configuration). Hive's clients act for
others in this way (HiveMetaStoreClient, `HADOOP_PROXY_USER`): SASL names no second user to a metastore.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

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


class DelegationTokens:
    """The tokens of one client, one for each metastore, because each may keep its tokens in its own memory."""

    def __init__(self, config: ConnectionConfig, credentials: KerberosCredentials) -> None:
        self._config = config
        self._credentials = credentials
        self._tokens: dict[str, str] = {}

    def open(self, uri: str) -> Connection:
        """Connect as the owner of the tokens."""
        token = self._tokens.get(uri)
        if token is not None:
            # A metastore refuses a token that has expired, and after it was started again.
            with suppress(SecurityFailure):
                return Connection.open(uri, self._with_token(token))
        self._tokens[uri] = token = self.token(uri)
        return Connection.open(uri, self._with_token(token))

    def token(self, uri: str) -> str:
        """Return a new token for the proxy user, or for the own user if there is none, from a metastore.

        Raises:
            SecurityFailure: If the metastore gives none.
        """
        direct = self._config._replace(credentials=replace(self._credentials, proxy_user=None))
        connection = Connection.open(uri, direct)
        try:
            owner = self._credentials.proxy_user or connection.user
            return str(connection.client.get_delegation_token(owner, owner))
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

    def _with_token(self, token: str) -> ConnectionConfig:
        credentials = SecretCredentials(Authentication.TOKEN, Secret(token), name_rules=self._credentials.name_rules)
        return self._config._replace(credentials=credentials)
