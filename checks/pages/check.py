"""Uses the pages as a person would, and holds what they show against the results they were made of."""

import copy
import csv
import io
import json
from pathlib import Path

from browser import Browser, sheets
from common import AXE, PICTURES, SITE, WORK, fits_a_phone, imbrex, is_accessible, is_quiet, shows_every_chart, violations
from documents import check_documents
from live import check_live

ONE_RUN, MANY_RUNS = 1_500_000, 4_000_000


def check_comparison(browser):
    """The answer, filters, numbers, exports, the theme, and a phone."""
    page, results = WORK / "comparison.html", WORK / "comparison.json"
    imbrex("compare", "hm_0", "wdev_0", "--requests", 20000, "--layers", "conventional,fifo-log,in-place,log-greedy",
           "--capacity", "400GiB", "--html", page, "--format", "json", "-o", results)
    browser.open(page.as_uri())
    shows_every_chart(browser, ["answer-0", "answer-1", "latency", "cdf", "amplification", "rewrites", "series", "units"])
    rows = json.loads(results.read_text())
    begins_with_the_answer(browser, rows)
    holds_the_numbers(browser, rows)
    assert "synthetic" in browser.text("header"), "nobody says that this is synthetic"
    for said in ["cannot keep up", "in-place"]:
        for chart in ["answer-0", "latency"]:
            assert said in browser.text(f"#figure-{chart}"), f"{said} is not in the chart {chart}"
    filters(browser, rows)
    exports(browser, rows)
    before = browser.run("return document.documentElement.dataset.theme")
    browser.picture("comparison")
    browser.click("header button:last-of-type")
    assert browser.run("return document.documentElement.dataset.theme") != before, "the theme stays"
    browser.picture("comparison-other-theme")
    browser.picture("comparison-phone", 400)
    fits_a_phone(browser)
    is_quiet(browser, "the comparison")


def begins_with_the_answer(browser, rows):
    """A heading for each workload: the layer that is nearest to a conventional disk, and by how much."""
    headings = browser.run("return [...document.querySelectorAll('.answer h2')].map((one) => one.textContent)")
    workloads = list(dict.fromkeys(row["trace"] for row in rows))
    assert len(headings) == len(workloads), headings
    for heading, workload in zip(headings, workloads):
        of = {row["layer"]: row for row in rows if row["trace"] == workload}
        best = of["fifo-log"]["latency_ms"]["mean"] / of["conventional"]["latency_ms"]["mean"]
        # What takes less time is said to be so many times as fast.
        factor = 1 / best if best < 0.97 else best
        for said in ["fifo-log", f"{workload} (synthetic)", f"{factor:.3g}\u00a0×", "in-place cannot keep up"]:
            assert said in heading, f"{said} is not in: {heading}"
        assert heading in browser.run("return document.querySelector(arguments[0]).getAttribute('aria-label')",
                                      f"#figure-answer-{workloads.index(workload)} .chart"), "the chart does not say what it shows"


def holds_the_numbers(browser, rows):
    """The table has the numbers of the JSON, to the last digit; a run has all of its fields, below its own line."""
    cells = browser.run(
        "return [...document.querySelectorAll('#runs tbody tr')].map("
        "(row) => [...row.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value))")
    assert len(cells) == len(rows), f"{len(cells)} of {len(rows)} runs are in the table"
    for shown, row in zip(cells, rows):
        for value, field in zip(shown[4:9], ["write_amplification", "rmw", "rmw_free", "write_hit_ratio", "disk_busy_ratio"], strict=True):
            assert float(value) == row[field], f"{row['layer']}: {field} is {row[field]}, and {value} in the page"
    browser.click("#runs tbody tr button")
    fields = browser.run(
        "return [...document.querySelector('#runs tbody tr').nextSibling.querySelectorAll('tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))")
    assert dict(fields)["latency_ms.write.p999"] == json.dumps(rows[0]["latency_ms"]["write"]["p999"]), fields
    browser.click("#runs tbody tr button")
    assert not browser.all("#runs tr.fields"), "the fields of a run stay open"


def filters(browser, rows):
    count = lambda: len(browser.all("#runs tbody tr"))
    browser.run("document.querySelectorAll('#choose, .filters details').forEach((one) => { one.open = true })")
    browser.click("input[name=layer][value=fifo-log]")
    left = sum(row["layer"] != "fifo-log" for row in rows)
    assert count() == left, f"{count()} rows without fifo-log, of {left}"
    shows_every_chart(browser, ["amplification"])
    browser.wait(lambda: "fifo-log" not in browser.text("#figure-amplification svg"), "the chart shows what was filtered out")
    browser.click("input[name=layer][value=fifo-log]")
    assert count() == len(rows)
    browser.choose("#compare select", "wdev_0 (synthetic)")
    browser.click("#figure-amplification summary")
    browser.wait(lambda: browser.all("#figure-amplification table"), "the data of a chart are not shown")
    assert "log-greedy" in browser.text("#figure-amplification table"), browser.text("#figure-amplification table")


def exports(browser, rows):
    browser.click("#figure-amplification .tools button:nth-child(3)")
    table = list(csv.DictReader(io.StringIO(browser.downloaded("amplification.csv").decode())))
    by_layer = {row["layer"]: row for row in rows if row["trace"] == "wdev_0"}
    for line in table:
        row = by_layer[line["run"]]
        written = sum(float(line[why]) for why in row["media_write_blocks"])
        assert abs(written - row["write_amplification"]) < 1e-9, line
    browser.click("#figure-series .tools button:nth-child(1)")
    drawing = browser.downloaded("series.svg")
    assert drawing.startswith(b"<svg") and b">fifo-log<" in drawing, "a saved chart has no legend"
    assert "fifo-log" not in browser.text("#figure-series svg"), "the chart has a legend though the page has one"
    assert "fifo-log" in browser.text(".legend")
    browser.click("#figure-amplification .tools button:nth-child(2)")
    assert browser.downloaded("amplification.png").startswith(b"\x89PNG")
    browser.click("#table .bar button:nth-child(2)")
    assert json.loads(browser.downloaded("runs.json")) == rows, "the JSON that the page saves is not that of the program"


def check_units(browser):
    """What lies where, at the moment that the slider says."""
    page = WORK / "units.html"
    imbrex("replay", "src2_2", "--requests", 20000, "--layer", "cold-weight", "--drive", "cold-weight-40m", "--zone-size", "4MiB",
           "--dense", "--untimed", "--capacity", "fit", "--prefill", 0, "--html", page)
    assert page.stat().st_size <= ONE_RUN, f"{page.stat().st_size} bytes for one run"
    browser.open(page.as_uri())
    shows_every_chart(browser, ["amplification", "series", "units"])
    note = lambda: browser.text("#figure-units .note")
    at_the_end = note()
    browser.run("const slider = document.querySelector('#moment'); slider.value = 2; slider.dispatchEvent(new Event('input'))")
    browser.wait(lambda: note() != at_the_end, "the slider changes nothing")
    assert "the end" in at_the_end and "the end" not in note(), note()
    browser.picture("units")
    is_quiet(browser, "the units")


def check_maps(browser):
    """Two maps beside each other, the first of which has something to show."""
    page = WORK / "maps.html"
    imbrex("compare", "hm_0", "--requests", 20000, "--layers", "in-place,fifo-log", "--capacity", "400GiB", "--html", page)
    browser.open(page.as_uri())
    shows_every_chart(browser, ["units"])
    assert "fifo-log" in browser.text("#figure-units figcaption"), "the first map is of a layer that has nothing to show"
    assert not browser.one("#figure-units-2").is_displayed()
    browser.choose("#where label:nth-of-type(2) select", "0")
    shows_every_chart(browser, ["units-2"])
    left, right = (browser.one(f"#figure-{name}").rect for name in ["units", "units-2"])
    assert left["y"] == right["y"] and left["x"] < right["x"], (left, right)
    is_quiet(browser, "the maps")


def check_steps(browser):
    """What the disk does is played, and stepped through with buttons and keys."""
    for name, words in [
        ("steps", ["--layer", "fifo-log", "--drive", "small-zoned", "--zone-size", "1MiB", "--buffer", "1MiB"]),
        ("tracks", ["--layer", "tracklace", "--drive", "tiny-interlaced"]),
    ]:
        page = WORK / f"{name}.html"
        imbrex("replay", "hm_0", "--requests", 20000, "--beyond", "wrap", "--html", page, *words)
        browser.open(page.as_uri())
        steps_through(browser)
        browser.picture(name)
        fits_a_phone(browser)
        is_quiet(browser, name)
    assert "destroys" in browser.text("#steps ol"), "nothing is destroyed on interlaced tracks"


def steps_through(browser):
    figure = browser.one("#steps figure")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", figure)
    browser.wait(lambda: browser.text("#steps .controls button:nth-child(2)") == "Pause", "it does not play when it is seen")
    said = lambda: browser.text("#steps .says")
    first = said()
    browser.wait(lambda: said() != first, "playing goes nowhere")
    assert browser.run("return document.querySelector('#steps .says').ariaLive") == "off", "what plays is read out"
    browser.click("#steps .controls button:nth-child(2)")
    sentences = browser.run("return [...document.querySelectorAll('#steps ol li')].map((line) => line.firstChild.textContent.trim())")
    browser.run("const slider = document.querySelector('#steps input'); slider.value = 0; slider.dispatchEvent(new Event('input'))")
    assert browser.run("return document.querySelector('#steps .says').ariaLive") == "polite", "a step that is chosen is not read out"
    for number, sentence in enumerate(sentences[:12]):
        assert said() == sentence, f"step {number + 1} says: {said()}"
        assert browser.all("#steps .stage rect.target, #steps .stage rect.source, #steps .stage rect.emptied"), f"step {number + 1} moves nothing"
        browser.click("#steps .controls button:nth-child(3)")
    browser.run("arguments[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}))", browser.one("#steps figure button"))
    assert said() == sentences[11], "an arrow key does not step back"
    assert any("In all" in sentence for sentence in sentences), "nobody says what a rewrite came to"


def check_differences(browser):
    """Two files of results beside each other."""
    old, new, page = WORK / "old.json", WORK / "new.json", WORK / "differences.html"
    imbrex("compare", "hm_0", "--requests", 20000, "--layers", "conventional,fifo-log,loop-back", "--capacity", "400GiB", "--format", "json", "-o", old)
    rows = json.loads(old.read_text())
    rows[1]["latency_ms"]["mean"] *= 1.2
    rows[1]["write_amplification"] *= 1.1
    rows[0]["replay_seconds"] *= 2
    new.write_text(json.dumps(rows))
    imbrex("report", old, new, "-o", page)
    browser.open(page.as_uri())
    assert browser.text("h1").startswith("old.json and new.json"), browser.text("h1")
    said = browser.text("#differences .finding")
    assert said.startswith("1 of 3 runs differs; the largest: mean latency of fifo-log is 1.2\u00a0×"), said
    cells = browser.run("return [...document.querySelectorAll('#differences tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    assert [(row[0], row[1], row[4]) for row in cells] == [("fifo-log", "mean latency", "1.2\u00a0×"), ("fifo-log", "write amplification", "1.1\u00a0×")], cells
    browser.click("#differences .controls button")
    lines = list(csv.DictReader(io.StringIO(browser.downloaded("differences.csv").decode())))
    assert float(lines[0]["new.json"]) == rows[1]["latency_ms"]["mean"], lines
    browser.picture("differences")
    is_quiet(browser, "the differences")


def check_paper(browser):
    """A page on paper: light, and no chart is larger than a sheet."""
    browser.open((WORK / "comparison.html").as_uri())
    browser.run("""document.documentElement.dataset.theme = "dark";
        addEventListener("beforeprint", () => { window.printed = [document.documentElement.dataset.theme,
            ...[...document.querySelectorAll(".chart svg")].map((one) => [one.width.baseVal.value, one.height.baseVal.value])] })""")
    paper = browser.printed("comparison")
    theme, *charts = browser.run("return window.printed")
    assert theme == "light" and len(charts) >= 8, (theme, charts)
    assert all(0 < width <= 703 and height <= 1000 for width, height in charts), f"charts do not fit on A4: {charts}"
    assert {b"[0 0 594.95996 841.91998]", b"[0 0 841.91998 594.95996]"} == paper, f"the sheets are {paper}"
    imbrex("report", WORK / "comparison.json", "-o", WORK / "comparison.pdf")
    assert sheets((WORK / "comparison.pdf").read_bytes()) == paper, "the program prints other sheets"


def check_without_script(browser):
    """What is left of a page without JavaScript: its numbers."""
    rows = json.loads((WORK / "comparison.json").read_text())
    with browser.without_script():
        browser.driver.get((WORK / "comparison.html").as_uri())
        cells = [line.text for line in browser.all("noscript tbody tr")]
    assert len(cells) == len(rows), cells
    for line, row in zip(cells, rows):
        late = "cannot keep up" if row["layer"] == "in-place" else f"{row['latency_ms']['mean']:.2f}"
        assert row["layer"] in line and late in line, line


def check_claims(browser):
    """A folder of `reproduce` as a page."""
    folder, page = WORK / "paper", WORK / "paper.html"
    imbrex("reproduce", "zonealloy", "--requests", 200, "--seeds", 2, "--output", folder)
    imbrex("report", folder, "-o", page, "--title", "ZoneAlloy")
    browser.open(page.as_uri())
    assert "imbrex." not in browser.run("return [...document.querySelectorAll('h1, h2, h3')].map((one) => one.textContent).join()"), "a heading is the name of a schema"
    with open(folder / "claims.csv", newline="") as file:
        claims = list(csv.DictReader(file))
    shown = lambda: len(browser.all("#claims tbody tr"))
    assert shown() == len(claims), f"{shown()} of {len(claims)} claims"
    browser.choose("#claims select", "not-met")
    assert shown() == sum(claim["verdict"] == "not-met" for claim in claims)
    browser.picture("claims")
    a_sweep_has_words(browser)
    is_quiet(browser, "the claims")


def a_sweep_has_words(browser):
    """Its heading says what it is, and its chart has a line for each curve."""
    results, page = WORK / "sweep.json", WORK / "sweep.html"
    row = {"schema": "imbrex.sweep/1", "sweep": "cache", "axis": "cache, MiB", "synthetic": True}
    results.write_text(json.dumps([{**row, "curve": curve, "value": 2**n, "rmw": 9 - n} for curve in ["pore", "lru-cache"] for n in range(4)]))
    imbrex("report", results, "-o", page)
    browser.open(page.as_uri())
    assert browser.text("h3") == "What a sweep found", browser.text("h3")
    shows_every_chart(browser, ["sheet-sweep"])
    assert all(said in browser.text("#figure-sheet-sweep") for said in ["rmw over cache, MiB", "pore", "lru-cache"])


def check_accessible(browser):
    """No rule of axe-core is broken by reports, in the light and in the dark."""
    page = WORK / "broken.html"
    page.write_text("<!DOCTYPE html><html lang=en><title>broken</title><main><h1>One</h1><img src='data:,'></main></html>")
    browser.open(page.as_uri(), "main")
    assert violations(browser, Path(AXE).read_text()).get("image-alt"), "axe-core does not find a picture without words"
    for name in ["comparison", "units", "steps", "tracks", "differences", "paper"]:
        browser.open((WORK / f"{name}.html").as_uri())
        browser.run("""for (const one of document.querySelectorAll("details")) one.open = true;
            for (const one of figures) one.ready();
            document.querySelector("#runs tbody button")?.click();
            // axe-core takes its time for each element: of rows, which are like each other, and in drawings, of which it
            // judges nothing.
            for (const row of document.querySelectorAll("tbody tr:nth-child(n+4)")) row.remove();
            for (const drawing of document.querySelectorAll("svg")) drawing.replaceChildren();""")
        is_accessible(browser, name)


def check_many(browser):
    """400 runs, each with a series."""
    one, series = WORK / "one.json", WORK / "one-series.json"
    imbrex("replay", "hm_0", "--requests", 10000, "--layer", "fifo-log", "--capacity", "400GiB", "--series", series, "--window", "100req",
           "--format", "json", "-o", one)
    run, windows = json.loads(one.read_text())[0], json.loads(series.read_text())
    runs, rows = [], []
    for number in range(400):
        changed = copy.deepcopy(run)
        changed["trace"], changed["layer"] = f"volume-{number // 10}", f"layer-{number % 10}"
        changed["latency_ms"]["mean"] *= 1 + number / 7
        runs.append(changed)
        for window in windows:
            varied = {**window, "trace": changed["trace"], "layer": changed["layer"]}
            varied["mean_write_ms"] *= 1 + number / 13
            varied["end_s"] += number
            rows.append(varied)
    one.write_text(json.dumps(runs))
    series.write_text(json.dumps(rows))
    page = WORK / "many.html"
    imbrex("report", one, series, "-o", page)
    size = page.stat().st_size
    assert size <= MANY_RUNS, f"{size} bytes for 400 runs"
    ready = browser.open(page.as_uri())
    assert len(browser.all("#workloads table tbody tr")) == 40
    assert len(browser.all("#answers li")) == 40 and len(browser.all(".answer")) == 1
    print(f"page check: 400 runs with series take {size / 1e6:.2f} MB; ready after {ready / 1e3:.2f} s")
    is_quiet(browser, "400 runs")


def main():
    browser = Browser(WORK, PICTURES)
    checks = [check_comparison, check_units, check_maps, check_steps, check_differences, check_paper, check_without_script, check_claims]
    try:
        optional = [*([check_accessible] if AXE else []), *([check_documents] if SITE else [])]
        for check in [*checks, *optional, check_many, check_live]:
            check(browser)
            print(f"page check: {check.__doc__.splitlines()[0]} Good.")
    finally:
        browser.close()


main()
