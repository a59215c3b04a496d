"""Takes the pictures of pages that the documents keep, so that a change of a page can be looked at before and after."""

import base64
import subprocess
import sys
from pathlib import Path

from browser import Browser
from served import Served, answers

IMBREX, WORK, PICTURES = map(Path, sys.argv[1:4])
WIDTHS, THEMES = (1280, 800, 390), ("light", "dark")
HIGHEST = 2200
"""Pixels of a picture; what lies below is left out."""

PAGES = {
    "first": ["compare"],
    "families": ["compare", "src2_2", "--family", "all", "--requests", "20k"],
    "over-time": ["replay", "hm_0", "--layer", "block-lru", "--buffer", "64MiB", "--requests", "300k"],
    "tracks": ["replay", "usr_2", "--layer", "tracklace", "--drive", "imr-tracklace", "--capacity", "fit", "--requests", "100k"],
}
"""What makes each page."""


def imbrex(*words):
    # In the folder, so that pages show no path.
    subprocess.run([IMBREX.resolve(), *words], check=True, stdout=subprocess.DEVNULL, cwd=WORK)


def take(browser, name, first=None):
    """The page that is open, in every width and theme, from the element `first` on."""
    for theme in THEMES:
        browser.run("document.documentElement.dataset.theme = arguments[0]; repaint()", theme)
        for width in WIDTHS:
            browser.wide(width, HIGHEST)
            browser.run("for (const one of figures) one.ready()")
            top = browser.run("return arguments[0] ? document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY : 0", first)
            whole = browser.run("return document.documentElement.scrollHeight")
            clip = {"x": 0, "y": top, "width": width, "height": min(HIGHEST, whole - top), "scale": 1}
            asked = {"format": "webp", "quality": 60, "clip": clip, "captureBeyondViewport": True}
            taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", asked)
            (PICTURES / f"{name}-{width}-{theme}.webp").write_bytes(base64.b64decode(taken["data"]))
    browser.wide(None)


def main():
    browser = Browser(WORK, PICTURES)
    try:
        for name, words in PAGES.items():
            imbrex(*words, "--html", f"{name}.html")
            browser.open((WORK / f"{name}.html").as_uri())
            take(browser, name, "#where" if name == "tracks" else "#time" if name == "over-time" else None)
        with Served(IMBREX, WORK) as volume:
            browser.wait(lambda: answers(volume.address), "the server does not answer")
            with volume.load():
                browser.open(volume.address)
                browser.wait(lambda: browser.run("return document.querySelector('main').innerText.includes('Cleaning began')"), "nothing is cleaned")
                take(browser, "live")
    finally:
        browser.close()
    imbrex(*PAGES["first"], "--pdf", "first.pdf")
    subprocess.run(["pdftoppm", "-r", "60", "-png", WORK / "first.pdf", PICTURES / "print"], check=True)


main()
