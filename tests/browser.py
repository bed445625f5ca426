"""Headless Chromium for tests of HTML pages; tests are skipped if it is not installed."""

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
    # Pages cannot load anything.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


class Browser:
    """A browser window that shows an HTML file."""

    def __init__(self, driver: Chrome, directory: Path) -> None:
        self.driver = driver
        self._directory = directory

    def open(self, html: str, *, fragment: str = "") -> None:
        """Write a page to a file and open it."""
        file = self._directory / "page.html"
        file.write_text(html, encoding="utf-8")
        self.driver.get("about:blank")
        self.console()
        self.driver.get(f"{file.as_uri()}{fragment}")

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page; returns its result."""
        return self.driver.execute_script(script, *arguments)

    def console(self) -> list[str]:
        """Console messages since the last call: script errors and violations of the content security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """URLs requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [item["params"]["request"]["url"] for item in messages if item["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if url != "about:blank"]

    def prefer(self, scheme: str) -> None:
        """Set the preferred color scheme, `light` or `dark`."""
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
    # With a path, Selenium does not download a driver.
    with Chrome(options=options, service=Service(executable_path=driver_path)) as driver:
        yield driver


@pytest.fixture
def browser(chromium: Chrome, tmp_path: Path) -> Browser:
    """A browser with an own directory for its page."""
    window = Browser(chromium, tmp_path)
    window.prefer("light")
    return window
