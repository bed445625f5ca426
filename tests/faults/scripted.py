"""A server in front of the metastore that gives chosen calls another answer, or changes requests.

Internal failures of a metastore cannot be triggered at will: a listener that fails after the change, a database that
fails once, a server of another version. To a client each of them is an answer to a call.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.metastore._thrift.hive_metastore import ThriftHiveMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from tests.faults.view_changes import ALTER_TABLE
from tests.proxy import EVERY, LOOPBACK, Call, FurtherAction, Header, MessageStream, ThriftProxy


@dataclass(frozen=True)
class Answer(FurtherAction):
    """An error to answer instead of the server's answer."""

    error: TException
    """An error that the method declares, or Thrift's own TApplicationException."""
    carried_out: bool = False
    """Whether the metastore executes the request anyway."""


@dataclass(frozen=True)
class Reply(FurtherAction):
    """A result to answer instead of the server's."""

    value: Any
    """The value that the method returns."""


@dataclass
class EarlyAnswer(FurtherAction):
    """An error to answer at once, while the request takes effect later, when `deliver` is called.

    It imitates a database that carries out a COMMIT after the metastore has reported a failure. One object serves one
    call.
    """

    error: TException
    """An error that the method declares, or Thrift's own TApplicationException."""
    request: bytes = field(default=b"", init=False, repr=False)
    """The request, once it has arrived."""

    def deliver(self, server_port: int) -> None:
        """Send the request to the server, and wait for its answer."""
        assert self.request, "the request did not arrive"
        with socket.create_connection((LOOPBACK, server_port)) as server:
            server.sendall(self.request)
            MessageStream(server).read()


@dataclass(frozen=True)
class Rewrite(FurtherAction):
    """A replacement of bytes in the request by others of the same length."""

    old: bytes
    new: bytes


class ScriptedServer(ThriftProxy):
    """A proxy whose actions are `Answer`, `Reply`, `EarlyAnswer` and `Rewrite`, too."""

    @property
    def requests(self) -> list[bytes]:
        """The requests, in order of arrival."""
        return [call.request for call in self.calls]

    def _apply(self, call: Call, header: Header, request: bytes, client: socket.socket, replies: MessageStream) -> bool:
        match call.action:
            case Rewrite(old, new):
                assert len(old) == len(new)
                request = request.replace(old, new)
            case EarlyAnswer(error):
                call.action.request = request
                client.sendall(_reply(header, error))
                return True
            case Reply(value):
                client.sendall(_reply(header, value))
                return True
            case Answer(error, carried_out):
                if carried_out:
                    replies.source.sendall(request)
                    replies.read()
                client.sendall(_reply(header, error))
                return True
        return super()._apply(call, header, request, client, replies)


def _reply(header: Header, value: Any) -> bytes:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    is_internal = isinstance(value, TApplicationException)
    protocol.writeMessageBegin(
        header.method, TMessageType.EXCEPTION if is_internal else TMessageType.REPLY, header.sequence
    )
    if is_internal:
        value.write(protocol)
    else:
        _result(header.method, value).write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


def _result(method: str, value: Any) -> Any:
    """Return the result struct of a method with a value, or an error in its declared field."""
    kind = getattr(ThriftHiveMetastore, f"{method}_result")
    if not isinstance(value, TException):
        return kind(success=value)
    for spec in kind.thrift_spec:
        if spec is not None and spec[3] and not isinstance(spec[3], str) and type(value) is spec[3][0]:
            return kind(**{spec[2]: value})
    raise AssertionError(f"{method} does not declare {type(value).__name__}")


def like_version_3(server: ScriptedServer) -> None:
    """Let a server imitate Hive 3.1.3: it has catalogs and ignores the expectations of an alter."""
    server.on("get_catalogs", Answer(MetaException("not now")), nth=EVERY)
    server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
