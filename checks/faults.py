#!/usr/bin/env python3
"""Proves that the tests can fail: each of a list of faults must be found by them.

The faults stand in faults.toml: small wrong lines, each with the tests that should find it. All of them are compiled
into one build of a copy of the checkout, and the environment variable IMBREX_FAULT switches one on by its number. So
the whole list takes one build and a short run for each fault. Tests must pass without a fault before they count: what
fails then fails because of the fault.

It builds in CARGO_TARGET_DIR, or else in target/faults of the checkout. With --work the copy stays, and the next run
builds only what has changed. The exit status is 0 if all faults were found, 1 if one was not or the tests fail without
any, and 2 if the list does not fit the checkout.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

LIST = Path(__file__).with_name("faults.toml")
CARGO_TEST = ["cargo", "test", "--workspace", "--locked"]
# Seconds after which tests are taken to hang.
LONGEST = 1200
FAILED = re.compile(r"test (\S+).* \.\.\. FAILED")
PASSED = re.compile(r"test \S+.* \.\.\. ok")

# What is appended to the crate that all others of the library know: how a line asks whether it is to be wrong. Crates
# of the program know the library's front alone.
LIBRARY = "crates/imbrex-core/src/lib.rs"
FRONT = "crates/imbrex/src/lib.rs"
SEEDED = """
/// Whether this fault is switched on: the environment variable `IMBREX_FAULT` is its number.
pub fn seeded(fault: u32) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("IMBREX_FAULT").ok()?.parse().ok()) == Some(fault)
}
"""
SEEDED_IN_FRONT = "\npub use imbrex_core::seeded;\n"


@dataclass
class Fault:
    """A fault of the list, which is numbered from 1 on."""

    number: int
    name: str
    family: str
    file: str
    old: str
    new: str
    found_by: list[str]


def give_up(text: str, status: int) -> NoReturn:
    """Ends the program: with 2 where the list does not fit the checkout, with 1 where the copy is of no use."""
    print(text, file=sys.stderr)
    raise SystemExit(status)


def changed_files(tree: Path, faults: list[Fault]) -> dict[str, bytes]:
    """The files of the copy that differ from those of the tree, with all faults in them."""
    names = {fault.file for fault in faults} | {LIBRARY, FRONT}
    before = {name: (tree / name).read_text() if (tree / name).is_file() else "" for name in names}
    texts, wrong = dict(before), []
    for fault in faults:
        called = f"{fault.file}: fault {fault.number} ({fault.name})"
        if (times := before[fault.file].count(fault.old)) != 1:
            wrong.append(f"{called}: its old text occurs {times} times, and should once")
        if f"seeded({fault.number})" not in fault.new:
            wrong.append(f"{called}: its new text asks for another number")
        texts[fault.file] = texts[fault.file].replace(fault.old, fault.new)
    if wrong:
        give_up("\n".join(wrong), 2)
    texts[LIBRARY] += SEEDED
    texts[FRONT] += SEEDED_IN_FRONT
    return {name: text.encode() for name, text in texts.items()}


def copy_tree(tree: Path, to: Path, changed: dict[str, bytes]) -> None:
    """Makes `to` a copy of the tree with changed files. What is there already stays, so that it is not built again."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout.split("\0")
    names = {name for name in listed if name and (tree / name).is_file()}
    for old in [path for path in to.rglob("*") if path.is_file()]:
        if str(old.relative_to(to)) not in names:
            old.unlink()
    for name in names:
        content, target = changed.get(name) or (tree / name).read_bytes(), to / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(tree / name, target)
    # Tests read material beside the checkout.
    beside, shared = tree / "../shared", to.parent / "shared"
    if beside.exists() and not shared.exists():
        shared.symlink_to(beside.resolve())


@contextlib.contextmanager
def group(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command whose output is read. It ends with all that it has started, at the latest when it takes too long."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "errors": "replace"}
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **piped)

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(LONGEST, end)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        end()
        process.wait()


class Copy:
    """A copy of the checkout with all faults in it."""

    def __init__(self, tree: Path, work: Path, faults: list[Fault]) -> None:
        self.folder = work / "checkout"
        copy_tree(tree, self.folder, changed_files(tree, faults))
        # What a test leaves behind that was stopped goes with the folder.
        (work / "tmp").mkdir(exist_ok=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR") or tree / "target/faults").absolute()
        self.environment = os.environ | {"CARGO_TARGET_DIR": str(target), "TMPDIR": str(work / "tmp")}
        self.environment.pop("IMBREX_FAULT", None)
        self.clean: set[str] = set()

    def build(self, selections: list[str]) -> None:
        """Builds what the selections run."""
        targets = {" ".join(selection.split()[: 1 if selection.startswith("--lib") else 2]) for selection in selections}
        command = [*CARGO_TEST, "--quiet", "--no-run", *" ".join(sorted(targets)).split()]
        if subprocess.run(command, cwd=self.folder, env=self.environment).returncode != 0:
            give_up("the copy does not build with the faults in it", 1)

    def run(self, selection: str, fault: int | None) -> tuple[str | None, int]:
        """Runs tests until the first one fails, with a fault or without: which one does, and how many passed."""
        chosen = {} if fault is None else {"IMBREX_FAULT": str(fault)}
        command, passed = [*CARGO_TEST, *selection.split(), "--", "--test-threads=2"], 0
        with group(command, self.folder, self.environment | chosen) as process:
            for line in process.stdout or ():
                if failed := FAILED.match(line):
                    return failed[1], passed
                passed += bool(PASSED.match(line))
            return None if process.wait() == 0 else "a program that did not end as it should", passed

    def require_clean(self, selection: str) -> None:
        """The selected tests must pass without a fault."""
        if selection not in self.clean:
            failed, passed = self.run(selection, None)
            if failed or passed == 0:
                give_up(f"without a fault, the tests {selection} do not pass: {failed or 'there are none'}", 1)
            self.clean.add(selection)

    def finds(self, fault: Fault) -> bool:
        """Whether the tests find a fault; prints its line."""
        seconds, result = 0.0, "NOT FOUND"
        for selection in fault.found_by:
            self.require_clean(selection)
            begun = time.monotonic()
            failed, _ = self.run(selection, fault.number)
            seconds += time.monotonic() - begun
            if failed:
                result = f"found by {failed} after {seconds:.1f} s"
                break
        print(f"{fault.number:2}  {fault.family}: {fault.name}: {result}", flush=True)
        return result != "NOT FOUND"


def all_faults() -> list[Fault]:
    """The faults of the list, with their numbers."""
    return [Fault(number, **fault) for number, fault in enumerate(tomllib.loads(LIST.read_text())["fault"], 1)]


def find_all(tree: Path, work: Path, only: set[int]) -> bool:
    """Whether the tests find all faults, or those of the numbers that are asked for."""
    faults = all_faults()
    chosen = [fault for fault in faults if not only or fault.number in only]
    if unknown := only - {fault.number for fault in faults}:
        give_up(f"there is no fault {min(unknown)}; there are {len(faults)}", 2)
    copy = Copy(tree, work, faults)
    print(f"building a copy of {tree} with {len(faults)} faults in it", flush=True)
    copy.build([selection for fault in chosen for selection in fault.found_by])
    found = sum([copy.finds(fault) for fault in chosen])
    print(f"{found} of {len(chosen)} found")
    return found == len(chosen)


def numbers(text: str) -> set[int]:
    """Numbers with commas between them."""
    return {int(number) for number in text.split(",")}


def main() -> int:
    """Reads the options; stops cleanly when it is told to."""
    parser = argparse.ArgumentParser(description="Seeds faults, each of which the tests must find.")
    parser.add_argument("--only", type=numbers, default=set(), metavar="N,...", help="only the faults of these numbers")
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--tree", type=Path, default=here, help="the checkout, instead of the one this program is in")
    parser.add_argument("--work", type=Path, help="keep the copy in this folder, so that the next build is short")
    parser.add_argument("--dry-run", action="store_true", help="see that the list fits the checkout, and build nothing")
    options = parser.parse_args()
    if options.dry_run:
        changed_files(options.tree.resolve(), all_faults())
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            work = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="imbrex-faults-")))
            work.mkdir(parents=True, exist_ok=True)
            return 0 if find_all(options.tree.resolve(), work.resolve(), options.only) else 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
