#!/usr/bin/env python3
"""Writes the licenses of the libraries that programs contain: `licenses.py PACKAGE...`.

A list of them with what each says of its license, and the texts that come with them, each once. A library without a text
of its own is under one of those of the others, and the list says which.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NAMES = ("license", "licence", "copying", "notice", "unlicense")


def texts(folder: Path) -> list[str]:
    """The licenses in a library's folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.lower().startswith(NAMES))
    read = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.suffix not in (".rs", ".py")]
    return [text.strip() for text in read]


def main() -> None:
    packages = [word for name in sys.argv[1:] for word in ("--package", name)]
    cargo = ["cargo", "tree", "--locked", *packages, "--edges=normal,no-proc-macro", "--prefix=none", "--format={p}"]
    tree = subprocess.run(cargo, check=True, capture_output=True, text=True).stdout
    contained = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    metadata = ["cargo", "metadata", "--locked", "--format-version=1"]
    known = json.loads(subprocess.run(metadata, check=True, capture_output=True, text=True).stdout)["packages"]
    others = [it for it in known if it["source"] and (it["name"], f"v{it['version']}") in contained]
    if not others:
        sys.exit(f"{sys.argv[1:]} contain no libraries of others, which cannot be")
    of_text = defaultdict(list)
    for it in sorted(others, key=lambda it: (it["name"], it["version"])):
        called = f"{it['name']} {it['version']}"
        print(f"{called}: {it['license'] or 'see its text below'}")
        for text in texts(Path(it["manifest_path"]).parent):
            of_text[text].append(called)
    for text, libraries in of_text.items():
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(libraries))}\n{'=' * 80}\n\n{text}")


if __name__ == "__main__":
    main()
