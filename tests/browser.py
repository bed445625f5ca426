"""A real Chromium without a window, for tests of HTML pages; skips where none is installed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1400,900",
    # Nothing that a page may ask for is ever found.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


class Browser:
    """A window that shows one page of one file."""

    def __init__(self, driver: Chrome, directory: Path) -> None:
        self.driver = driver
        self._directory = directory

    def open(self, html: str, *, fragment: str = "") -> None:
        """Write a page to disk and show it, as a user does who opens the file."""
        file = self._directory / "page.html"
        file.write_text(html, encoding="utf-8")
        self.driver.get("about:blank")
        self.console()
        self.driver.get(f"{file.as_uri()}{fragment}")

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page; give what it returns."""
        return self.driver.execute_script(script, *arguments)

    def console(self) -> list[str]:
        """What the page wrote to the console since the last call: errors of scripts, what its policy forbade."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What was loaded, or asked for, since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [item["params"]["request"]["url"] for item in messages if item["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if url != "about:blank"]

    def prefer(self, scheme: str) -> None:
        """Ask pages for `light` or `dark`."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One Chromium for the whole run."""
    binary = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if binary is None or driver_path is None:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = binary
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Its path is given, so that Selenium never downloads one.
    with Chrome(options=options, service=Service(executable_path=driver_path)) as driver:
        yield driver


@pytest.fixture
def browser(chromium: Chrome, tmp_path: Path) -> Browser:
    """The browser, with a directory of the test's own for its page."""
    found = Browser(chromium, tmp_path)
    found.prefer("light")
    return found
