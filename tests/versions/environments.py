"""The virtual environments of the combinations."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.versions.combinations import MAIN, Environment

REPOSITORY = Path(__file__).parents[2]
DIRECTORY = REPOSITORY / "build" / "versions"


class MissingPythonError(Exception):
    """This machine has no Python of the version that a combination needs."""


def prepare(environment: Environment) -> Path:
    """Install an environment, unless it has the same requirements already; return the path of its Python.

    Raises:
        MissingPythonError: If this machine has no Python of that version.
        subprocess.CalledProcessError: If the packages cannot be installed.
    """
    if environment == MAIN:
        return Path(sys.executable)
    home = DIRECTORY / environment.name
    python = home / "bin" / "python"
    stamp = home / "installed.json"
    wanted = json.dumps([environment.python, environment.packages, (REPOSITORY / "setup.cfg").read_text()])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    base = find_python(environment.python)
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([base, "-m", "venv", home], check=True)
    command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--editable", ".[test]", *environment.packages], cwd=REPOSITORY, check=True)
    stamp.write_text(wanted)
    return python


def remove(environment: Environment) -> None:
    """Remove an environment, unless it is the one that runs this program."""
    if environment != MAIN:
        shutil.rmtree(DIRECTORY / environment.name, ignore_errors=True)


def install_overlay(python: Path, name: str, package: str) -> Path:
    """Install one package into a directory of its own, without its dependencies; return the directory."""
    directory = DIRECTORY / name
    shutil.rmtree(directory, ignore_errors=True)
    command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--target", directory, package], check=True)
    return directory


def find_python(version: str) -> str:
    """Return the command of a Python of a minor version that can create environments; empty means this one."""
    if not version:
        return sys.executable
    candidates = [f"python{version}", *sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))]
    check = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        command = shutil.which(candidate)
        if command is not None:
            answer = subprocess.run([command, "-c", check], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == version:
                return command
    raise MissingPythonError(f"no Python {version} that can create virtual environments")


def installed_versions(python: Path, names: Iterable[str], variables: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the version of Python, and those of packages that its programs import."""
    program = (
        "import json, platform, sys; from importlib.metadata import version; "
        "print(json.dumps([platform.python_version(), {name: version(name) for name in sys.argv[1:]}]))"
    )
    command: list[str | Path] = [python, "-c", program, *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(variables))
    number, versions = json.loads(answer.stdout)
    return str(number), dict(versions)
