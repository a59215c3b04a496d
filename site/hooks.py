"""What the documents do not have in themselves: pages that the program writes, its output below commands, and those
documents that lie beside `docs`."""

import json
import os
import posixpath
import re
import shlex
import subprocess
import tempfile
import textwrap
from pathlib import Path

import material
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("IMBREX", str(ROOT / "target/release/imbrex"))
# Documents beside `docs`, and their names on the site.
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md", "SECURITY.md": "security.md"}
# What leads to them, and to the beginning.
LEADS_TO = {**BESIDE, "README.md": "index.md"}
# Browsers start no worker from a file, but from text.
WORKER = """if (location.protocol === "file:") {
  const text = %s;
  window.Worker = class extends Worker {
    constructor() {
      super(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    }
  };
}
"""
# Characters that go beside each other on a page.
WIDTH = 80
# Names of fields stay whole.
TABLES = ".md-typeset td:nth-child(-n+2) code { white-space: nowrap; }\n"
# A command of the program, and the place for what it prints.
SHOWN = re.compile(r"```sh\n((?:imbrex [^\n]*\n)+)```\n\n<!-- output -->")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def printed(*words, folder=None):
    """What the program prints."""
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True, cwd=folder, env=environment).stdout


def on_config(config):
    # The list of layers is that of the folder.
    pages = sorted(path.name for path in (ROOT / "docs/layers").glob("*.md"))
    for section in config.nav:
        for entry in next(iter(section.values())):
            if isinstance(entry, dict) and entry.get("Layers") == "layers":
                entry["Layers"] = [f"layers/{name}" for name in sorted(pages, key=lambda name: name != "README.md")]
    return config


def on_files(files, config):
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    files.append(File.generated(config, "commands.md", content=commands()))
    files.append(File.generated(config, "drives.md", content=drives()))
    [worker] = Path(material.__file__).parent.glob("templates/assets/javascripts/workers/search.*.js")
    shim = WORKER % json.dumps(worker.read_text())
    files.append(File.generated(config, "assets/iframe-worker.js", content=shim))
    files.append(File.generated(config, "assets/tables.css", content=TABLES))
    return files


def commands():
    """The page of all commands: what `--help` says of each."""
    text = ["# Commands\n\nWhat `imbrex COMMAND --help` says, which the manual pages say, too.\n"]

    def add(words):
        said = printed(*words, "--help")
        text.append(f"\n{'#' * (len(words) + 2)} {' '.join(['imbrex', *words])}\n\n```text\n{wrapped(said.rstrip())}\n```\n")
        below = re.search(r"^Commands:\n((?:  .*\n)+)", said, re.M)
        for name in re.findall(r"^  (\w[\w-]*)", below[1] if below else "", re.M):
            if name != "help":
                add([*words, name])

    add([])
    return "".join(text)


def wrapped(text):
    """Text whose lines are as wide as a page, each with the indentation that it has."""
    lines = []
    for line in text.splitlines():
        # What stands beside a name goes on below itself.
        indent = re.match(r"\s*(?:[\w,-]+  +|- \w[\w-]*: +)?", line).end()
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def drives():
    """The page of all drives."""
    return f"# Drives\n\n```sh\nimbrex list drives\n```\n\n```text\n{printed('list', 'drives').rstrip()}\n```\n"


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)
    with tempfile.TemporaryDirectory() as scratch:
        markdown = SHOWN.sub(lambda shown: with_output(shown[1], scratch), markdown)
    beside = page.file.src_uri in BESIDE.values()
    return LINK.sub(lambda link: led(link, "" if beside else posixpath.join("docs", folder), folder), markdown)


def with_output(block, scratch):
    """The commands of a block, and what the last of them prints up to its notes."""
    said = [printed(*shlex.split(line)[1:], folder=scratch) for line in block.splitlines()][-1]
    table = "\n\n".join(said.rstrip().split("\n\n")[:2])
    return f"```sh\n{block}```\n\n```text\n{table}\n```"


def led(link, whence, folder):
    """A link as the site has it: what is not on the site is no link there."""
    mark, text, target = link.groups()
    path, _, anchor = target.partition("#")
    if "://" in target or not path:
        return link[0]
    place = posixpath.normpath(posixpath.join(whence, path))
    if place in LEADS_TO:
        page = LEADS_TO[place]
    elif place.startswith("docs/"):
        page = place.removeprefix("docs/")
    else:
        return text
    return f"{mark}[{text}]({posixpath.relpath(page, folder or '.')}{'#' * bool(anchor)}{anchor})"
