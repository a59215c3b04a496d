"""What the documentation shows works: the tutorial, and the examples of pages."""

from __future__ import annotations

import doctest
import functools
import re
from pathlib import Path
from typing import Any

import distributed
import nbformat
import pytest
from nbclient import NotebookClient

import imbrex


def test_the_tutorial_runs(root: Path) -> None:
    reader: Any = nbformat.read
    notebook = reader(root / "docs/tutorial.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are left out of the repository"
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    last = notebook.cells[-1].outputs[0]["data"]["text/plain"]
    assert "Finding(subject='forgetful'" in last


@pytest.mark.parametrize(("page", "least"), [("docs/python.md", 5), ("docs/sweeps.md", 3)])
def test_the_examples_of_a_page_work(
    page: str, least: int, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Other tests have workers in processes, which take seconds to start.
    monkeypatch.setattr(distributed, "LocalCluster", functools.partial(distributed.LocalCluster, processes=False))
    blocks = re.findall(r"^```python\n(.*?)^```$", (root / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= least
    names = {"__name__": "page"}
    for block in blocks:
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, page, None, 0)
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            names = test.globs
        else:
            exec(compile(block, page, "exec"), names)


def test_everything_public_is_documented() -> None:
    for name in imbrex.__all__:
        thing = getattr(imbrex, name)
        if callable(thing) and not name.startswith("Any"):
            assert thing.__doc__, name
