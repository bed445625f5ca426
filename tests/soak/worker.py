"""A process with several clients: `python -m tests.soak.worker PLAN`, PLAN being a `Plan` as JSON.

It is told what to do by lines on its standard input, and answers each with a line of JSON: `go`, `pause` (answered when
every client has ended what it was doing) and `stop`.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path

from tests.soak.client import Client, Plan
from tests.soak.ledger import Ledger


class Crew:
    """The threads of the clients."""

    def __init__(self, clients: list[Client]) -> None:
        self._clients = clients
        self._state = threading.Condition()
        self._running = False
        self._busy = 0
        self._ended = False
        self._threads = [threading.Thread(target=self._work, args=(client,)) for client in clients]
        for thread in self._threads:
            thread.start()

    def go(self) -> dict[str, int]:
        """Let the clients work."""
        with self._state:
            self._running = True
            self._state.notify_all()
        return {}

    def pause(self) -> dict[str, int]:
        """Wait until no client is doing anything."""
        with self._state:
            self._running = False
            self._state.wait_for(lambda: self._busy == 0)
        gc.collect()
        return {"objects": len(gc.get_objects())}

    def stop(self) -> dict[str, int]:
        """End the clients."""
        answer = self.pause()
        with self._state:
            self._ended = True
            self._state.notify_all()
        for thread in self._threads:
            thread.join()
        for client in self._clients:
            client.close()
        return answer

    def _work(self, client: Client) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._running or self._ended)
                if self._ended:
                    return
                self._busy += 1
            client.step()
            with self._state:
                self._busy -= 1
                self._state.notify_all()


def main() -> None:
    """Obey."""
    given = json.loads(sys.argv[1])
    plan = Plan(**{**given, "clients": tuple(given["clients"])})
    ledger = Ledger(Path(plan.ledgers))
    crew = Crew([Client(plan, client, ledger) for client in plan.clients])
    orders = {"go": crew.go, "pause": crew.pause, "stop": crew.stop}
    for line in sys.stdin:
        order = line.strip()
        print(json.dumps({"order": order, **orders[order]()}), flush=True)
        if order == "stop":
            return
    # Whoever gave the orders is gone.
    crew.stop()


if __name__ == "__main__":
    main()
