#!/usr/bin/env python3
"""Writes the licenses of the libraries that programs contain: `licenses.py PACKAGE...`.

A list of them with what each says of its license, and the texts that come with them, each once. A library without a text
of its own is under one of those of the others, and the list says which.
"""

import sys
from collections import defaultdict
from pathlib import Path

from libraries import contained, metadata

NAMES = ("license", "licence", "copying", "notice", "unlicense")


def texts(folder: Path) -> list[str]:
    """The licenses in a library's folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.lower().startswith(NAMES))
    read = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.suffix not in (".rs", ".py")]
    return [text.strip() for text in read]


def main() -> None:
    others = contained(metadata(), sys.argv[1:])
    of_text = defaultdict(list)
    for it in others:
        called = f"{it['name']} {it['version']}"
        print(f"{called}: {it['license'] or 'see its text below'}")
        for text in texts(Path(it["manifest_path"]).parent):
            of_text[text].append(called)
    for text, libraries in of_text.items():
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(libraries))}\n{'=' * 80}\n\n{text}")


if __name__ == "__main__":
    main()
