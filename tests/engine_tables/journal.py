"""Journal: what an engine answered, one function a line, so that an interrupted run continues where it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from tests.engine_tables.arguments import Written, literal
from tests.engine_tables.sampling import Samples

_SOURCES = Path(__file__).parent
DIRECTORY = Path(__file__).parents[2] / "build" / "engine_tables"


class Journal:
    """The recorded types of functions with the same calls as in an earlier run, in `build/engine_tables`.

    Args:
        name: The engine, its version and its rules.
        pool: The arguments that are columns.
    """

    def __init__(self, name: str, pool: Sequence[Written]) -> None:
        sources = [*_SOURCES.glob("*.py"), *_SOURCES.glob("java/*.java")]
        engine = name.partition("-")[0]
        asking = [path.read_bytes() for path in sorted(sources) if _determines(path.stem.lower(), engine)]
        digest = hashlib.sha256(b"".join(asking)).hexdigest()[:12]
        self._path = DIRECTORY / f"{name}-{digest}.jsonl"
        self._pool = {item.sql: item for item in pool}
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self.samples = dict(map(self._read, filter(_is_complete, lines)))

    def add(self, name: str, samples: Samples) -> Samples:
        """Write the samples of a function, and return them."""
        written = {
            count: [[[[item.sql, item.argument.type] for item in call], kind] for call, kind in accepted.items()]
            for count, accepted in samples.items()
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([name, written])}\n")
        return samples

    def _read(self, line: str) -> tuple[str, Samples]:
        name, samples = json.loads(line)
        return name, {
            int(count): {tuple(self._argument(*item) for item in call): kind for call, kind in accepted}
            for count, accepted in samples.items()
        }

    def _argument(self, sql: str, kind: str) -> Written:
        return self._pool.get(sql) or literal(sql, kind)


def _determines(module: str, engine: str) -> bool:
    """Return whether a module determines the questions, or an engine's answers."""
    return module in ("arguments", "asking", "sampling") or module.startswith(engine)


def _is_complete(line: str) -> bool:
    """Return whether a line was written to its end."""
    return line.endswith("]")
