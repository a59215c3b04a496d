"""What tests share."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def program() -> Program:
    """Runs the program, which IMBREX_PROGRAM names, and gives the rows that it writes."""
    path = os.environ.get("IMBREX_PROGRAM")
    if path is None:
        pytest.skip("IMBREX_PROGRAM names no program to compare with")

    def run(*words: str) -> list[dict[str, Any]]:
        done = subprocess.run([path, *words, "--format", "json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).parents[2]
