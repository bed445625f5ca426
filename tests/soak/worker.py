"""A process with several clients: `python -m tests.soak.worker PLAN`; PLAN is a `Plan` as JSON.

It reads commands from standard input and answers each with a line of JSON: `go`, `pause` (answered when all clients
have completed their operations) and `stop`.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path

from tests.soak.client import Client, Plan
from tests.soak.ledger import Ledger


class ClientThreads:
    """The threads of the clients."""

    def __init__(self, clients: list[Client]) -> None:
        self._clients = clients
        self._state = threading.Condition()
        self._running = False
        self._busy = 0
        self._stopped = False
        self._threads = [threading.Thread(target=self._work, args=(client,)) for client in clients]
        for thread in self._threads:
            thread.start()

    def go(self) -> dict[str, int]:
        """Start or resume the clients."""
        with self._state:
            self._running = True
            self._state.notify_all()
        return {}

    def pause(self) -> dict[str, int]:
        """Wait until all clients are idle."""
        with self._state:
            self._running = False
            self._state.wait_for(lambda: self._busy == 0)
        gc.collect()
        return {"objects": len(gc.get_objects())}

    def stop(self) -> dict[str, int]:
        """End the clients."""
        answer = self.pause()
        with self._state:
            self._stopped = True
            self._state.notify_all()
        for thread in self._threads:
            thread.join()
        for client in self._clients:
            client.close()
        return answer

    def _work(self, client: Client) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._running or self._stopped)
                if self._stopped:
                    return
                self._busy += 1
            client.step()
            with self._state:
                self._busy -= 1
                self._state.notify_all()


def main() -> None:
    """Run the commands of the parent process."""
    document = json.loads(sys.argv[1])
    plan = Plan(**{**document, "clients": tuple(document["clients"])})
    ledger = Ledger(Path(plan.ledgers))
    threads = ClientThreads([Client(plan, client, ledger) for client in plan.clients])
    commands = {"go": threads.go, "pause": threads.pause, "stop": threads.stop}
    for line in sys.stdin:
        command = line.strip()
        print(json.dumps({"command": command, **commands[command]()}), flush=True)
        if command == "stop":
            return
    # The parent process ended.
    threads.stop()


if __name__ == "__main__":
    main()
