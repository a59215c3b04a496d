"""A headless browser that remembers what a page asked for and complained of."""

import base64
import json
import re
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By


def sheets(pdf: bytes) -> set[bytes]:
    """The sizes of the sheets of a PDF."""
    return set(re.findall(rb"/MediaBox (\[[^]]*\])", pdf))


class Browser:
    """Chromium on pages that may ask nobody for anything, or only `allowed`."""

    def __init__(self, work: Path, pictures: Path):
        self.downloads = work / "downloads"
        self.downloads.mkdir()
        self.pictures = pictures
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"]:
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        # A large page takes a busy machine longer than the half minute that is usual.
        self.driver.set_script_timeout(600)

    def close(self):
        self.driver.quit()

    def open(self, address: str, ready: str = "body[data-ready]"):
        """Opens a page, and waits until it says that all of it is there: how long that took in ms."""
        self.driver.get(address)
        self.wait(lambda: self.all(ready), f"{address} is not ready")
        return self.run("return performance.now()")

    def wait(self, until, what: str, seconds: float = 120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = until()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what}; the page says: {self.run('return document.body.innerText')[:500]}")

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        found = self.all(selector)
        assert found, f"nothing is {selector}"
        return found[0]

    def text(self, selector: str) -> str:
        return self.run("return arguments[0].textContent", self.one(selector))

    def click(self, selector: str):
        target = self.one(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", target)
        target.click()

    def choose(self, selector: str, value: str):
        self.run(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", self.one(selector), value
        )

    def downloaded(self, name: str) -> bytes:
        path = self.downloads / name
        self.wait(path.exists, f"{name} was not saved")
        content = path.read_bytes()
        path.unlink()
        return content

    def wide(self, width: int | None, height: int = 900):
        """Makes the page as wide as a phone, which no window of a browser is; `None` undoes that."""
        if width is None:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        else:
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def printed(self, name: str) -> set[bytes]:
        """Prints the page into a file for people: the sizes of its sheets."""
        answer = self.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
        content = base64.b64decode(answer["data"])
        (self.pictures / f"{name}.pdf").write_bytes(content)
        return sheets(content)

    @contextmanager
    def without_script(self):
        """Opens pages as a browser does that runs no scripts."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def picture(self, name: str, width: int = 1280):
        """A picture of the whole page, for people."""
        self.driver.set_window_size(width, 1000)
        height = min(self.run("return document.documentElement.scrollHeight"), 8000)
        self.driver.set_window_size(width, height + 150)
        time.sleep(0.3)
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))
        self.driver.set_window_size(1280, 1000)

    def complaints(self) -> list[str]:
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]

    def asked_for(self) -> list[str]:
        """Addresses that were asked for since the last call, but for what lies in the page."""
        events = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith(("file:", "data:", "blob:"))]
