#!/usr/bin/env python3
"""Runs the steps of goals, and says what is under way, how far it is and how long the rest takes.

    checks/steps.py GOAL... [FILE.toml]     the steps of goals of steps.toml or another file, three at a time
    checks/steps.py --times GOAL            writes how long they took the last time into CONTRIBUTING.md

CONTRIBUTING.md has how long each step takes; what is said of the time left follows from that and from the pace so far.
What a step prints goes to a file below target/steps. The first failure ends the run, unless KEEP_GOING is 1. What
failed is the last thing that is printed, with the command that repeats it alone.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute()
LOGS = TARGET / "steps"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# More than there are cores: some steps wait for a disk, a guest or a browser.
AT_A_TIME = 3
# A pipe hears of a run that often; a terminal sees a line that changes.
HEARTBEAT_SECONDS = 30
# So long a machine is taken for one like that of CONTRIBUTING.md, whatever the first steps took.
SURE_SECONDS = 60
# No step takes longer, even on a machine three times as slow: one that does waits for what will not come. The soak
# takes as long as is asked for.
LIMIT_SECONDS = float(os.environ.get("STEP_LIMIT_SECONDS") or 30 * 60 + 2 * float(os.environ.get("SOAK_SECONDS", 0)))
# Lines of a step that failed.
SHOWN_LINES = 60


class Step:
    """A command, what must be done before it, and how long it takes on two idle cores from an empty clone."""

    def __init__(self, name, command, expected, after=()):
        self.name, self.command, self.expected, self.after = name, command, expected, set(after)
        self.log = LOGS / (re.sub(r"[^a-z0-9]+", "-", name.lower()) + ".log")
        self.process, self.took = None, None

    def start(self, environment):
        self.began = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", self.command], cwd=ROOT, env=environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def ended(self):
        """Whether it has ended, with its time. One that takes too long is ended."""
        if self.process.poll() is None:
            if self.under_way() < LIMIT_SECONDS:
                return False
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            with open(self.log, "a") as log:
                log.write(f"\nended here: it has taken {in_minutes(LIMIT_SECONDS)}, as no step does (STEP_LIMIT_SECONDS)\n")
        self.took = time.monotonic() - self.began
        return True

    def stop(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)

    def lines(self):
        return self.log.read_text(errors="replace").splitlines()

    def remains(self, pace):
        """Seconds that it is expected to take from now on, on a machine that takes `pace` times as long."""
        if self.took is not None:
            return 0
        return max(self.expected * pace - self.under_way(), 1)

    def under_way(self):
        """Seconds since it began."""
        return time.monotonic() - self.began if self.process else 0


class Run:
    """The steps of goals: which are waiting, under way and done."""

    def __init__(self, steps):
        self.steps, self.running, self.failed = steps, [], []
        self.began = self.spoke = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.left_out = LOGS / "left-out"
        self.left_out.write_text("")
        self.environment = {"PROGRAMS": str(TARGET / "programs"), **os.environ, "IMBREX_LEFT_OUT": str(self.left_out)}
        # What make passes on of its jobs is not open to cargo.
        for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"]:
            self.environment.pop(name, None)

    def go(self):
        waiting = list(self.steps)
        while waiting or self.running:
            self.begin(waiting)
            time.sleep(0.1)
            for step in [step for step in self.running if step.ended()]:
                self.end(step)
                if step in self.failed and os.environ.get("KEEP_GOING") != "1":
                    self.stop()
                    return
            waiting = self.possible(waiting)
            self.say_how_far()

    def possible(self, waiting):
        """Those that wait for no step that failed, nor for one that such a step keeps from being done."""
        going = [*waiting, *self.running]
        cannot = {step.name for step in self.steps if step in self.failed or (step.took is None and step not in going)}
        possible = [step for step in waiting if not step.after & cannot]
        return waiting if len(possible) == len(waiting) else self.possible(possible)

    def begin(self, waiting):
        done = {step.name for step in self.steps if step.took is not None}
        known = {step.name for step in self.steps}
        for step in [step for step in waiting if step.after & known <= done]:
            if len(self.running) == AT_A_TIME:
                return
            waiting.remove(step)
            step.start(self.environment)
            self.running.append(step)
            self.say(f"{step.name} begins")

    def end(self, step):
        self.running.remove(step)
        if step.process.returncode == 0:
            self.say(f"{step.name} is done, {step.took:.0f} s")
        else:
            self.failed.append(step)
            self.say(f"{step.name} FAILED, {step.took:.0f} s")

    def stop(self):
        for step in self.running:
            step.stop()
        for step in self.running:
            step.process.wait()

    def left(self):
        """Seconds until all is done: steps go to whoever is free first, at the pace of those that are done or overdue."""
        known = [step for step in self.steps if step.took is not None or step.under_way() > step.expected]
        # What was built already says nothing of the machine, so it is never taken for a faster one.
        pace = max(1, (SURE_SECONDS + sum(step.took or step.under_way() for step in known)) / (SURE_SECONDS + sum(step.expected for step in known)))
        free, ends = [0.0] * AT_A_TIME, {}
        for step in sorted(self.steps, key=lambda step: (step.took is None, step.process is None)):
            remains, after = step.remains(pace), max((ends.get(name, 0) for name in step.after), default=0)
            worker = free.index(min(free))
            ends[step.name] = max(free[worker], after) + remains
            if remains:
                free[worker] = ends[step.name]
        return max(ends.values())

    def how_far(self):
        passed = time.monotonic() - self.began
        left = self.left()
        return f"{100 * passed / (passed + left):3.0f} %, {in_minutes(left)} left"

    def say(self, what):
        self.spoke = time.monotonic()
        print(f"{self.clear()}[{self.how_far()}] {what}", flush=True)

    def clear(self):
        return "\r\033[K" if self.terminal else ""

    def say_how_far(self):
        under_way = "; ".join(f"{step.name} {in_minutes(step.under_way())}" for step in self.running)
        if self.terminal:
            width = os.get_terminal_size().columns - 1
            print(f"{self.clear()}{f'[{self.how_far()}] {under_way}'[:width]}", end="", flush=True)
        elif time.monotonic() - self.spoke > HEARTBEAT_SECONDS:
            self.say(f"under way: {under_way}")

    def conclude(self):
        """What was counted and left out; last, what failed."""
        print(self.clear(), end="")
        passed, failed, ignored = counted(self.steps)
        print(left_out(self.left_out.read_text()))
        done = sum(step.took is not None for step in self.steps)
        print(f"{done} of {len(self.steps)} steps in {in_minutes(time.monotonic() - self.began)}; tests:")
        print(f"{passed} passed, {max(failed, len(self.failed))} failed, {ignored} skipped", flush=True)
        for step in self.failed:
            print(f"\n{step.name} failed; all that it said is in {os.path.relpath(step.log)}:\n")
            print("\n".join(step.lines()[-SHOWN_LINES:]))
            print(f"\nThis repeats it alone:\n\n    {step.command}\n", flush=True)
        return 1 if self.failed else 0


def in_minutes(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def counted(steps):
    """Tests passed, failed and ignored, by what the runners of Rust's and Python's tests say in the end."""
    text = "\n".join("\n".join(step.lines()) for step in steps if step.took is not None)
    rust = re.findall(r"^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M)
    totals = [sum(int(one) for one in column) for column in zip(*rust)] or [0, 0, 0]
    for position, word in enumerate(["passed", "failed", "skipped"]):
        totals[position] += sum(map(int, re.findall(rf"^(?:=+ )?(?:.*, )?(\d+) {word}(?:, .*)? in [\d.]+s", text, re.M)))
    return totals


def left_out(text):
    """How many checks were left out, and for each reason which, in the same order whatever was first."""
    pairs = [line.split("\t") for line in text.splitlines()]
    if not pairs:
        return "nothing was left out"
    said = [f"{len(pairs)} check{'s' * (len(pairs) > 1)} left out:"]
    for why in sorted({why for _, why in pairs}):
        said += [f"  {why}:"] + [f"    {check}" for check in sorted({check for check, reason in pairs if reason == why})]
    return "\n".join(said)


def known_steps(goals, file):
    """The steps of some goals, with the times that CONTRIBUTING.md has for them. One that comes after "*" is the last."""
    if not goals:
        sys.exit("steps.py: no goal is named")
    table = tomllib.loads(Path(file).read_text())
    known = sorted({goal for one in table.values() for goal in one["goals"]})
    for goal in goals:
        if goal not in known:
            sys.exit(f"steps.py: there is no goal {goal!r}; there are {', '.join(known)}")
    table = {name: one for name, one in table.items() if set(goals) & set(one["goals"])}
    expected = dict(re.findall(r"^\| ([^|]+?) \|.*\| (\d+) \|$", CONTRIBUTING.read_text(), re.M))
    after = {name: one.get("after", ()) for name, one in table.items()}
    after = {name: set(table) - {name} if "*" in names else names for name, names in after.items()}
    return [Step(name, one["command"], int(expected.get(name, 10)), after[name]) for name, one in table.items()]


def keep_times(goals, run):
    """How long the steps of each goal took."""
    took = {step.name: round(step.took) for step in run.steps if step.took is not None}
    for goal in goals:
        (LOGS / f"{goal}.json").write_text(json.dumps(took))


def write_times(goal):
    """Writes the times of the last run into the rows of the steps in CONTRIBUTING.md, but for those that an earlier goal
    has run: here they found done what an empty clone has not."""
    took, text = json.loads((LOGS / f"{goal}.json").read_text()), CONTRIBUTING.read_text()
    table = tomllib.loads((ROOT / "checks/steps.toml").read_text())
    for name, seconds in took.items():
        if table[name]["goals"][0] != goal:
            continue
        text, rows = re.subn(rf"^(\| {re.escape(name)} \|.*\| )\d+ \|$", rf"\g<1>{seconds} |", text, flags=re.M)
        if rows != 1:
            sys.exit(f"steps.py: CONTRIBUTING.md has {rows} rows for {name!r}, and should have one")
    CONTRIBUTING.write_text(text)


def main():
    match sys.argv[1:]:
        case ["--times", goal]:
            write_times(goal)
        case [_, *_] as words:
            file = words.pop() if words[-1].endswith(".toml") else ROOT / "checks/steps.toml"
            LOGS.mkdir(parents=True, exist_ok=True)
            run = Run(known_steps(words, file))
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
            try:
                run.go()
            except (KeyboardInterrupt, SystemExit):
                run.stop()
                print(f"{run.clear()}stopped")
                sys.exit(130)
            keep_times(words, run)
            sys.exit(run.conclude())
        case _:
            sys.exit(__doc__)


main()
