#!/usr/bin/env python3
"""The pages of reproduced papers, held to the commands that make them.

A page in docs/reproduction, or docs/frontier.md, names its command in a comment, and includes tables of the folder that this command fills:

    <!-- tables of: imbrex reproduce zonealloy -->
    <!-- begin claims.md -->
    <!-- end -->

The words around them are written by hand. `--write` runs the whole commands and puts their tables into the pages. The
check runs commands again for one volume of a paper at a time, with all seeds; it fails where a number that this tells
differs from the page's. The commit decides which volumes of which papers are first, and none begins when `--seconds`
have passed: volumes differ in what they take, from seconds to minutes.

Where a volume takes too long, the page names further options for the check. With seeds of its own it leaves out the
claims, which are over all of them:

    <!-- checked with: --seeds 1 -->
"""

import argparse
import hashlib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/imbrex"
COMMAND = re.compile(r"<!-- tables of: imbrex (reproduce .*?) -->")
CHECKED = re.compile(r"<!-- checked with: (.*?) -->")
INCLUDED = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
VOLUME = re.compile(r"\w+")
# So long another volume may begin. The last one may take as long again, or some minutes where it has many requests.
SECONDS = 45
# What stands where a number is not known, or not known to the end.
UNKNOWN = re.compile(r"^(-|)$|^[≥≤]|…")


def command(page):
    """What makes a page's tables, as the words behind the program's name."""
    found = COMMAND.search(page) or sys.exit("a page names no command that makes its tables")
    return shlex.split(found[1])


def further(page):
    """The options with which a page is checked beside its command."""
    found = CHECKED.search(page)
    return shlex.split(found[1]) if found else []


def run(program, words, folder):
    """The tables of a run, by the names of their files."""
    done = subprocess.run([program, *words, "--output", folder], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"imbrex {shlex.join(words)} failed")
    return {path.name: path.read_text() for path in pathlib.Path(folder).glob("*.md")}


def written(page, tables):
    """The page with its tables anew."""
    def table(found):
        if found[2] not in tables:
            sys.exit(f"no table {found[2]} is made; there are {', '.join(sorted(tables))}")
        return f"{found[1]}\n{tables[found[2]]}\n{found[3]}"

    return INCLUDED.sub(table, page)


def cells(text):
    """The cells of a table by what stands before their row and above their column; rows of one name are numbered."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    lines = [[cell.strip() for cell in line] for line in lines]
    seen, found = {}, {}
    for name, *row in lines[2:]:
        seen[name] = seen.get(name, 0) + 1
        found.update({(name, seen[name], heading): cell for heading, cell in zip(lines[0][1:], row)})
    return found


def differences(name, shown, made):
    """Where a table of the page differs from one that a run of some volumes made."""
    shown, made = cells(shown), cells(made)
    if name == "claims.md":
        # A claim about several volumes is not known to the end, and neither is its verdict.
        told = {key[:2] for key, cell in made.items() if key[2] == "measured" and not UNKNOWN.search(cell)}
        made = {key: cell for key, cell in made.items() if key[:2] in told}
    else:
        made = {key: cell for key, cell in made.items() if not UNKNOWN.search(cell)}
    said = "{}, {} of {}: the page has {}, its command {}"
    return [said.format(name, key[2], key[0], shown.get(key, "nothing"), cell)
            for key, cell in made.items() if shown.get(key) != cell]


def miscounted(page):
    """What is wrong with the sentence that counts verdicts: it must count those of the page's table."""
    included = {name: text for _, name, text in
                re.findall(r"(<!-- begin (\S+) -->)\n(.*?)<!-- end -->", page, re.DOTALL)}
    if not {"claims.md", "verdicts.md"} <= included.keys():
        return []
    verdicts = [cell for key, cell in cells(included["claims.md"]).items() if key[2] == "verdict"]
    words = {"met": "met", "exceeded": "exceeded", "NOT MET": "not met", "VARIES": "met with some seeds only"}
    counted = [f" {verdicts.count(verdict)} {word}," for verdict, word in words.items()]
    return [f"verdicts.md does not say{one}" for one in counted if one not in included["verdicts.md"]]


def volumes(page):
    """The volumes that the page's table of workloads names, with their requests."""
    found = re.search(r"<!-- begin workloads.md -->\n(.*?)<!-- end -->", page, re.DOTALL)
    table = cells(found[1]) if found else sys.exit("a page does not include workloads.md")
    column = "requests" if any(key[2] == "requests" for key in table) else "writes"
    return {VOLUME.match(key[0])[0]: int(cell.replace(",", "")) for key, cell in table.items() if key[2] == column}


def smaller_half(page):
    """Those of a page's volumes that have the fewest requests, with how many: half of them, and others that have no
    more."""
    some = sorted(volumes(page).items(), key=lambda volume: volume[1])
    most = some[(len(some) - 1) // 2][1]
    return [volume for volume in some if volume[1] <= most]


def in_order(pages, commit):
    """Pages with their volumes, of each page the smaller half, in the order in which they are looked at. It depends on
    the commit, so in time all of them are, and one with more requests is seldom early."""
    def place(path, volume, requests):
        drawn = hashlib.sha256(f"{commit} {path.stem} {volume}".encode()).hexdigest()
        return int(drawn, 16) / 16**len(drawn) * requests

    all_of_them = [(path, *one) for path in pages for one in smaller_half(path.read_text())]
    return [(path, volume) for path, volume, _ in sorted(all_of_them, key=lambda one: place(*one))]


def check(path, program, volume):
    """What of a page differs from its command for a volume."""
    page = path.read_text()
    words = [*command(page), *further(page), "--workload", volume]
    print(f"{path.stem}: imbrex {shlex.join(words)}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        tables = run(program, words, pathlib.Path(home) / "made")
    found = []
    for _, name, text in re.findall(r"(<!-- begin (\S+) -->)\n(.*?)<!-- end -->", page, re.DOTALL):
        if name not in tables:
            # Of one volume alone some tables have nothing to show.
            continue
        of_all_seeds = name == "claims.md" and "--seeds" in further(page)
        if name not in ("verdicts.md", "workloads.md") and not of_all_seeds:
            found += differences(name, text, tables[name])
    return [f"{path.name}: {one}" for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="run the whole commands and write their tables")
    parser.add_argument("--pages", type=pathlib.Path, default=ROOT / "docs/reproduction", help="where the pages are")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, help="the program; otherwise a release build")
    parser.add_argument("--volume", help="check this volume of each page")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long another volume may begin")
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="these papers; otherwise all")
    arguments = parser.parse_args()
    beside = arguments.pages.parent / "frontier.md"
    # All but the list of them.
    papers = [path for path in arguments.pages.glob("*.md") if path.name != "README.md"]
    pages = sorted(papers) + [path for path in [beside] if path.exists()]
    if unknown := set(arguments.papers) - {path.stem for path in pages}:
        sys.exit(f"there is no page of {', '.join(sorted(unknown))}")
    pages = [path for path in pages if path.stem in arguments.papers] if arguments.papers else pages
    if arguments.write:
        for path in pages:
            page = path.read_text()
            with tempfile.TemporaryDirectory() as home:
                path.write_text(written(page, run(arguments.program, command(page), pathlib.Path(home) / "made")))
        return
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()
    order = [(path, arguments.volume) for path in pages] if arguments.volume else in_order(pages, commit)
    found = [f"{path.name}: {one}" for path in pages for one in miscounted(path.read_text())]
    begun = time.monotonic()
    looked_at = []
    for path, volume in order:
        if looked_at and not arguments.volume and time.monotonic() - begun >= arguments.seconds:
            print(f"{len(order) - len(looked_at)} of {len(order)} are left for other commits")
            break
        looked_at.append(path)
        found += check(path, arguments.program, volume)
    print("\n".join(found) or f"{len(set(looked_at))} pages agree with their commands where these were run again")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
