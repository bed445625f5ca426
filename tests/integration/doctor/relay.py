"""A TCP relay that replaces bytes, to give a real metastore a defect."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType


class Relay:
    """A relay on a free port of 127.0.0.1, as a context manager.

    Args:
        port: The real server's port, at 127.0.0.1.
        requests: What to replace in requests, and by what: of equal length, since Thrift counts bytes.
        answers: The same for answers.
    """

    def __init__(self, port: int, requests: Mapping[bytes, bytes] = {}, answers: Mapping[bytes, bytes] = {}) -> None:
        for before, after in [*requests.items(), *answers.items()]:
            assert len(before) == len(after), (before, after)
        self._port = port
        self._requests, self._answers = dict(requests), dict(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self.uri = f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, server]
                for source, target, replaced in (
                    (client, server, self._requests),
                    (server, client, self._answers),
                ):
                    threading.Thread(target=_copy, args=(source, target, replaced), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket, replaced: Mapping[bytes, bytes]) -> None:
    with suppress(OSError):
        # A client sends each request in one piece, which loopback keeps for such short ones.
        while data := source.recv(1 << 20):
            for before, after in replaced.items():
                data = data.replace(before, after)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
