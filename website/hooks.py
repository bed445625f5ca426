"""MkDocs hooks: generate the reference pages, adapt links that leave docs/, and find lists rendered as running text."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer.main
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

from hive_views.cli.app import app
from website.running_lists import running_lists

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

API_PACKAGES = {
    "hive_views": "The catalog",
    "hive_views.materialized": "Materialized views",
    "hive_views.dependencies": "Dependencies",
    "hive_views.spark": "Spark",
    "hive_views.legacy_import": "Import of legacy views",
    "hive_views.schema_upgrade": "Metastore upgrades",
    "hive_views.doctor": "Diagnosis",
    "hive_views.view_copy": "Copies between catalogs",
    "hive_views.errors": "Errors",
}
"""The modules with a public API, with the titles of their pages."""

LOG = get_plugin_logger(__name__)

LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:[^)#]+)(?:#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace directories in the navigation by their pages."""
    pages = {
        "reference/api": [{title: api_path(package)} for package, title in API_PACKAGES.items()],
        "decisions": _pages_of(config, "decisions"),
        "facts": _pages_of(config, "facts"),
    }
    for section in config.nav or []:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else []:
                for title, path in entry.items():
                    entry[title] = pages.get(path, path)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    generated = {"reference/commands.md": commands_page()}
    generated |= {api_path(package): api_page(package, title) for package, title in API_PACKAGES.items()}
    for path, content in generated.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the repository that are not pages into text, since the site does not contain them."""
    docs = Path(config.docs_dir)
    folder = docs / Path(page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        target = (folder / match[0].rpartition("](")[2].rstrip(")").partition("#")[0]).resolve()
        return match[0] if target.is_relative_to(docs) else match[1]

    return LINK.sub(replace, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Warn of lists that are rendered as running text; with `strict` the build fails."""
    for line in running_lists(html):
        LOG.warning("%s: a list needs a blank line before it: %s", page.file.src_uri, line[:100])
    return html


def api_path(package: str) -> str:
    """The page of a package."""
    return f"reference/api/{package.replace('.', '-')}.md"


def api_page(package: str, title: str) -> str:
    """A page with all public names of a package; mkdocstrings inserts their docstrings."""
    module = import_module(package)
    lines = [f"# {title}", "", f"Import these names from `{package}`."]
    for name in sorted(public_names(module)):
        value = getattr(module, name)
        source = getattr(value, "__module__", package)
        if source in API_PACKAGES and source != package:
            lines += ["", f"`{name}`: see [{API_PACKAGES[source]}]({Path(api_path(source)).name})"]
        elif hasattr(value, "__qualname__"):
            lines += ["", f"::: {value.__module__}.{value.__qualname__}"]
    return "\n".join(lines) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """The names that a module exports: its `__all__`, otherwise the classes that it defines."""
    classes = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return getattr(module, "__all__", None) or [name for name in classes if not name.startswith("_")]


def commands_page() -> str:
    """A page with all commands, their arguments and options."""
    lines = [
        "# Commands",
        "",
        "Generated from `--help`. [The command line](../cli.md) has examples, the exit codes and the JSON output.",
    ]
    _add_command(lines, typer.main.get_command(app), "hive-views")
    return "\n".join(lines) + "\n"


def _add_command(lines: list[str], command: Any, path: str) -> None:
    lines += ["", f"## {path}", "", _text(command.help or command.short_help)]
    context = command.make_context(path, [], resilient_parsing=True)
    records = [
        parameter.get_help_record(context) for parameter in command.params if not getattr(parameter, "hidden", False)
    ]
    if records:
        lines += ["", "| argument or option | meaning |", "|---|---|"]
        lines += [f"| `{declaration}` | {_text(meaning)} |" for declaration, meaning in filter(None, records)]
    subcommands: dict[str, Any] = getattr(command, "commands", {})
    for name, subcommand in subcommands.items():
        if not subcommand.hidden:
            _add_command(lines, subcommand, f"{path} {name}")


def _text(text: str | None) -> str:
    """One line that is safe in a table."""
    return " ".join((text or "").replace("\b", "").split()).replace("|", "\\|").replace("<", "&lt;")


def _pages_of(config: MkDocsConfig, directory: str) -> list[str]:
    pages = sorted(
        Path(config.docs_dir, directory).glob("*.md"), key=lambda page: (page.name != "README.md", page.name)
    )
    return [f"{directory}/{page.name}" for page in pages]
