"""A proxy that answers calls which Hive 4 removed, for clients of Hive 2: Iceberg in Spark, and PyIceberg 0.12.

`get_table` and `get_table_objects_by_name` are sent as `get_table_req` and `get_table_objects_by_name_req`; the bytes
of the rows are passed on unchanged. Vendors' servers, and Hive before 4.0.1, answer these calls themselves.
"""

from __future__ import annotations

import io
import socket
import struct
from typing import Any

from tests.proxy import Call, Header, MessageStream, ThriftProxy

_STRUCT, _STOP = 12, 0
_REPLY, _EXCEPTION = 2, 3
_REQUESTS = {"get_table": "get_table_req", "get_table_objects_by_name": "get_table_objects_by_name_req"}


class OldCalls(ThriftProxy):
    """A proxy on a free port of 127.0.0.1 that translates removed calls."""

    def _apply(self, call: Call, header: Header, request: bytes, client: socket.socket, replies: MessageStream) -> bool:
        new = _REQUESTS.get(header.method)
        if new is None:
            return super()._apply(call, header, request, client, replies)
        start = 4 + 4 + len(header.method) + 4 if header.strict else 4 + len(header.method) + 1 + 4
        # The fields of the old call (1: database, 2: name or names) are the first fields of the new one's structure.
        fields = request[start:]
        body = struct.pack("!BH", _STRUCT, 1) + fields + bytes([_STOP])
        replies.source.sendall(_message(new, 1, header.sequence, body))
        _, reply = replies.read()
        client.sendall(_translate(reply, new, header))
        return True


def _message(method: str, kind: int, sequence: int, body: bytes) -> bytes:
    name = method.encode()
    return struct.pack("!II", 0x80010000 | kind, len(name)) + name + struct.pack("!i", sequence) + body


def _translate(reply: bytes, new: str, header: Header) -> bytes:
    """The reply of an old call, from the reply of the new one."""
    start = 4 + 4 + len(new) + 4
    kind = reply[3]
    body = reply[start:]
    if kind == _EXCEPTION or body[:3] != struct.pack("!BH", _STRUCT, 0):
        return _message(header.method, kind, header.sequence, body)
    # Field 1 of the result is the row, or the list of rows; the old reply has it as its result (field 0).
    field_type = body[3]
    stream = MessageStream(_Bytes(body[6:]))  # type: ignore[arg-type]
    stream.skip(field_type)
    value = body[6 : 6 + stream._position]
    return _message(header.method, _REPLY, header.sequence, struct.pack("!BH", field_type, 0) + value + bytes([_STOP]))


class _Bytes:
    """Bytes that are read as from a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def recv(self, count: int) -> Any:
        return self._data.read(count)
