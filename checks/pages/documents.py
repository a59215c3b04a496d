"""Reads the site of documents from its folder, as somebody would who has no network."""

from pathlib import Path

from common import SITE, fits_a_phone, is_quiet

SEARCH = "input.md-search__input"


def check_documents(browser):
    """The documents' site: its first page, a search, what is found, and a phone."""
    site = Path(SITE)
    browser.open((site / "index.html").as_uri(), SEARCH)
    assert "zone-ages" in browser.text("article"), "the first page does not show what its command prints"
    assert browser.run("return document.querySelector('article img').naturalWidth") > 100, "the picture is not there"
    browser.click(SEARCH)
    browser.one(SEARCH).send_keys("skylight")
    found = '.md-search-result__item a[href*="layers/skylight.html"]'
    browser.wait(lambda: browser.all(found), "the search does not find the page of a layer")
    browser.open((site / "layers/skylight.html").as_uri(), "article h1")
    fits_a_phone(browser)
    browser.picture("documents")
    is_quiet(browser, "the site of documents")
