"""How far long work has come."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Call: TypeAlias = Callable[[str, int, int], object]
Progress: TypeAlias = Call | bool | None

PATIENCE = 2.0
"""Work that takes less time, in seconds, shows no bar."""


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Call | None]:
    """What is to be called with the phase, how much of it is done, and of how much."""
    if callable(progress):
        yield progress
    elif progress is False or not (progress or _is_watched()):
        yield None
    else:
        bar = _Bar(patience=0.0 if progress else PATIENCE)
        try:
            yield bar
        finally:
            bar.close()


def _is_watched() -> bool:
    """Whether somebody sees a bar: in a terminal or in a notebook."""
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and hasattr(shell.get_ipython(), "kernel")
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())


class _Bar:
    """A bar for each phase that goes on for a while; none without tqdm."""

    def __init__(self, patience: float) -> None:
        self._begun, self._patience = time.monotonic(), patience
        self._phase, self._bar = "", None

    def __call__(self, phase: str, done: int, total: int) -> None:
        if time.monotonic() - self._begun < self._patience:
            return
        if phase != self._phase:
            self.close()
            self._phase, self._bar = phase, _bar(phase, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _bar(phase: str, total: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc=phase, total=total, leave=False, unit_scale=True)
