"""The page of a volume that is served."""

import json
import urllib.request

from common import AXE, IMBREX, WORK, fits_a_phone, imbrex, is_accessible, shows_every_chart
from served import Served, answers, refuses


def check_live(browser):
    """A volume that is served, while fio writes to it and after its server is killed."""
    with Served(IMBREX, WORK) as volume:
        browser.wait(lambda: answers(volume.address), "the server does not answer")
        browser.open(volume.address)
        browser.wait(lambda: "No requests in the last" in browser.text("#idle"), "nobody says that nothing is asked for")
        browser.wait(lambda: "Nothing has been written yet" in browser.text("#where"), "nobody says that nothing is written")
        assert not browser.one("#figure-requests").is_displayed(), "a chart of nothing but zeros is drawn"
        browser.picture("live-idle")
        with volume.load():
            browser.open(volume.address)
            browser.complaints(), browser.asked_for()
            shows_every_chart(browser, ["requests", "latency", "bytes", "fill", "memory", "units"])
            shows_writes(browser)
            assert "fifo-log" in browser.text("h1"), browser.text("h1")
            looks_right_while_served(browser)
            browser.picture("live")
        imbrex("clean", volume.image, "--pause")
        browser.wait(lambda: "Cleaning paused" in browser.text("#events"), "the events do not say that cleaning was paused")
        says_what_happened(browser, volume.address)
        others = [one for one in browser.asked_for() if not one.startswith(volume.address)]
        assert not others and not browser.complaints(), others
        assert refuses(volume.address), "a page of somebody else may read what is told"
    browser.wait(lambda: "does not answer" in browser.text("#told"), "nobody says that the server is gone")
    browser.picture("live-gone")


def shows_writes(browser):
    """The rates of requests have those of fio."""
    browser.click("#figure-requests summary")
    rates = lambda: [float(cell.replace("\u202f", "")) for cell in browser.run(
        "return [...document.querySelectorAll('#figure-requests tbody tr')].filter((row) => row.cells[0].textContent === 'write')"
        ".map((row) => row.cells[2].textContent)")]
    browser.wait(lambda: len([rate for rate in rates() if rate > 20]) >= 2, "no writes are shown")


def looks_right_while_served(browser):
    """Cards of one height, a bar for the buffer, and room on a phone."""
    heights = browser.run("return [...new Set([...document.querySelectorAll('.tiles > div')].map((one) => Math.round(one.getBoundingClientRect().height)))]")
    assert len(heights) == 1, f"cards are {heights} pixels high"
    cards = browser.text("#numbers")
    assert all(said in cards for said in ["Healthy", "Reads", "Buffer", "Longest step"]), cards
    names = browser.run("return [...document.querySelectorAll('#fills [role=meter]')].map((one) => one.getAttribute('aria-label'))")
    assert names == ["Buffer", "Journal"], names
    fits_a_phone(browser)
    if AXE:
        is_accessible(browser, "live")


def says_what_happened(browser, address):
    """The page lists the events that the server tells of, in their order."""
    with urllib.request.urlopen(f"{address}events.json", timeout=20) as answer:
        told = json.load(answer)
    assert told[-1]["event"] == "serving" and any(one["event"] == "clients-connected" for one in told), told
    times = [one["at_ms"] for one in told]
    assert times == sorted(times, reverse=True), times
    shown = lambda: browser.run("return [...document.querySelectorAll('#events tbody td:last-child')].map((one) => one.textContent)")
    browser.wait(lambda: all(one["text"] in shown() for one in told), f"events are missing: {told}")
