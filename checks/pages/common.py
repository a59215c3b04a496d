"""What all checks of pages use."""

import json
import subprocess
import sys
from pathlib import Path

IMBREX, WORK, PICTURES = (Path(path) for path in sys.argv[1:4])
# Empty where it could not be had.
AXE, SITE = sys.argv[4:6]


def imbrex(*words):
    done = subprocess.run([IMBREX, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"imbrex {' '.join(map(str, words))}: {done.stderr}"


def is_quiet(browser, what):
    """A page complains of nothing, and asks nobody for anything."""
    complaints, asked = browser.complaints(), browser.asked_for()
    assert not complaints, f"{what}: {complaints}"
    assert not asked, f"{what} asks for {asked}"


def shows_every_chart(browser, ids):
    """Charts are drawn, and say in words what they show."""
    for name in ids:
        node = browser.one(f"#figure-{name}")
        browser.run("arguments[0].scrollIntoView({block: 'center'})", node)
        drawn = lambda: browser.run("return arguments[0].querySelectorAll('svg path').length", node)
        browser.wait(drawn, f"chart {name} is not drawn")
        said = browser.run("return arguments[0].querySelector('.chart').getAttribute('aria-label')", node)
        assert len(said.split(". ")) > 1, f"chart {name} says only: {said}"


def fits_a_phone(browser):
    browser.wide(390, 900)
    # Charts take their new width with the next frame.
    fits = "const { scrollWidth, clientWidth } = document.documentElement; return innerWidth === 390 && scrollWidth <= clientWidth"
    browser.wait(lambda: browser.run(fits), "a phone has to scroll sideways", 20)
    browser.wide(None)


def is_accessible(browser, name):
    """The page that is open breaks no rule of axe-core in either theme."""
    axe = Path(AXE).read_text()
    before = browser.run("return document.documentElement.dataset.theme")
    # Themes differ in their colours alone.
    for theme, rules in [("light", None), ("dark", ["color-contrast"])]:
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        found = violations(browser, axe, rules)
        assert not found, f"{name}, {theme}: {json.dumps(found, indent=1)}"
    browser.run("document.documentElement.dataset.theme = arguments[0]", before)


def violations(browser, axe, rules=None):
    """The rules that the page breaks, all or of those that are named, and where."""
    browser.run(axe)
    return browser.driver.execute_async_script("""
        const [rules, done] = arguments;
        axe.run({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) }).then(({ violations }) => done(Object.fromEntries(violations.map(({ id, nodes }) => [id, nodes.map((one) => one.failureSummary + one.html)]))),
            (problem) => done({ axe: [String(problem)] }))""", rules)
