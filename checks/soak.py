#!/usr/bin/env python3
"""What `make test` does a little of, for as long as one likes: power cuts, kills of servers, cases of properties, longer
comparisons of counts, and fuzzing if there are ten minutes for it.

SOAK_SECONDS (60) is how long; SOAK_SEED (1) is what all of it is drawn from. Whoever has had the least time goes next,
two at a time, so each layer gets as much of each kind as any other. The first finding ends the soak, and the last thing
printed is the command that replays it.
"""

import functools
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute()
IMBREX = TARGET / "programs/imbrex"
SECONDS = float(os.environ.get("SOAK_SECONDS", 60))
SEED = int(os.environ.get("SOAK_SEED", 1))
AT_A_TIME = 2
# Building for libFuzzer takes minutes, so that shorter soaks do not fuzz.
FUZZES = SECONDS >= 600
# A slice is made longer until it takes so long: then the start of a program no longer counts.
SLICE_SECONDS = 3
# Seeds of one soak do not meet those of the next.
SEEDS_EACH = 1_000_000
# Layers whose servers are killed: one of each way to keep a map.
KILLED = ["fifo-log", "log-greedy", "dm-zoned", "amphisbaena", "seagate", "lru-cache"]
# Tests that are longer with IMBREX_DEEP.
DEEP = ["counts::", "stacks::", "flash_caches::", "profiles::", "damage::", "documentation::", "sampling::", "lifetimes::"]
HEARTBEAT_SECONDS = 30


@dataclass
class Job:
    """What is done slice by slice: a kind of trial on one layer, target or list of tests."""

    kind: str
    of: str
    share: float = 1
    size: int = 1
    spent: float = 0
    done: int = 0
    slices: int = 0
    left: list = field(default_factory=list)
    cut_short: bool = False

    def command(self):
        """The next slice: a command, its environment, and how many trials it makes."""
        return KINDS[self.kind](self, SEED * SEEDS_EACH + self.done)

    def longer(self, took):
        if took < SLICE_SECONDS / 2 and self.kind in ADAPTED:
            self.size *= 2


def cuts(*options):
    def command(job, seed):
        arguments = [IMBREX, "explore", job.of, "--cuts", job.size, "--seed", seed, "--jobs", 1, "--format", "json", *options]
        return list(map(str, arguments)), {}, job.size

    return command


def cases(job, seed):
    environment = {"PROPTEST_CASES": str(job.size), "PROPTEST_RNG_SEED": str(seed)}
    return [every_layer(), "--test-threads=1", f"{job.of}::", "--skip", "survives_power_cuts"], environment, job.size


def kills(job, seed):
    return ["checks/nbd/kills.sh", job.of], {"KILLS": str(job.size), "SEED": str(seed % 32768)}, job.size


def attacks(job, seed):
    return ["checks/nbd/hostile.sh"], {"ATTACKS": str(job.size), "SEED": str(seed)}, job.size


def deep(job, _):
    binary, test = job.left.pop(0)
    if not job.left:
        job.share = 0
    return [binary, "--exact", test], {"IMBREX_DEEP": "1"}, 1


def fuzz(job, seed):
    corpus = TARGET / "fuzz/corpus" / job.of
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "fuzz/seeds" / job.of
    options = [f"-seed={seed % 2**31}", f"-max_total_time={SLICE_SECONDS * 2}", "-max_len=8192", "-timeout=60", "-rss_limit_mb=1024",
               "-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={TARGET}/fuzz/"]
    program = next((TARGET / "fuzz").glob(f"*/debug/{job.of}"))
    return [str(program), str(corpus), *([str(seeds)] if seeds.is_dir() else []), *options], {}, 0


KINDS = {
    "cuts in memory": cuts(),
    "cuts on images": cuts("--image"),
    "cuts with checksums": cuts("--image", "--checksums"),
    "cases": cases,
    "kills": kills,
    "attacks": attacks,
    "deep tests": deep,
    "fuzzing": fuzz,
}
ADAPTED = ["cuts in memory", "cuts on images", "cuts with checksums", "cases"]


def tests(package, target):
    """The program of a package's tests, as cargo built it."""
    command = "cargo test --workspace --locked --no-run --message-format=json --test all --test every_layer"
    built = subprocess.run(command.split(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    for message in map(json.loads, built.stdout.splitlines()):
        if message.get("executable") and message["target"]["name"] == target and f"/{package}/Cargo" in message["manifest_path"]:
            return message["executable"]
    sys.exit(f"soak: {package} has no tests {target}")


@functools.cache
def every_layer():
    return tests("imbrex", "every_layer")


def deep_tests():
    """The tests that are longer with IMBREX_DEEP, each with its program; another seed begins with another one."""
    programs = [tests(package, "all") for package in ["imbrex", "imbrex-live", "imbrex-cli"]]
    listed = lambda program: subprocess.run([program, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout
    found = [(program, name) for program in programs for name in re.findall(r"^(\S+): test$", listed(program), re.M)
             if name.startswith(tuple(DEEP))]
    random.Random(SEED).shuffle(found)
    return found


def all_jobs():
    layers = [one["name"] for one in json.loads(subprocess.check_output([IMBREX, "list", "layers", "--format", "json"]))]
    targets = tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["bin"] if FUZZES else []
    jobs = [Job(kind, layer, size=size) for kind, size in [("cuts in memory", 100), ("cuts on images", 50), ("cuts with checksums", 50), ("cases", 5)]
            for layer in layers]
    jobs += [Job("kills", layer, share=2) for layer in KILLED]
    jobs += [Job("attacks", "the page, metrics and the control socket", share=4, size=200)]
    jobs += [Job("fuzzing", target["name"], share=3) for target in targets]
    return [*jobs, Job("deep tests", "what is longer with IMBREX_DEEP", share=12, left=deep_tests())]


class Soak:
    """Whose turn it is, and what has been found."""

    def __init__(self, jobs):
        self.jobs, self.busy, self.found = random.Random(SEED).sample(jobs, len(jobs)), {}, None
        self.lock = threading.Lock()
        self.began = time.monotonic()

    def is_over(self):
        return self.found is not None or time.monotonic() - self.began > SECONDS

    def next(self):
        with self.lock:
            free = [job for job in self.jobs if job.share and id(job) not in self.busy]
            job = min(free, key=lambda job: job.spent / job.share)
            self.busy[id(job)] = None
            return job

    def work(self):
        while not self.is_over():
            job = self.next()
            try:
                self.slice(job)
            except Exception as error:  # A thread that ends in silence would be a soak that finds nothing.
                self.found = self.found or (f"{job.kind}, {job.of}: {error!r}", "")
            with self.lock:
                del self.busy[id(job)]

    def slice(self, job):
        command, environment, trials = job.command()
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self.busy[id(job)] = process
        said = process.communicate()[0]
        took = time.monotonic() - began
        if process.returncode != 0 and job.cut_short:
            return
        if process.returncode != 0 and self.found is None:
            again = " ".join([*(f"{name}={value}" for name, value in environment.items()), shlex.join(command)])
            self.found = (f"{job.kind}, {job.of}:\n\n{said[-4000:]}", again)
        executed = re.search(r"stat::number_of_executed_units: (\d+)", said)
        job.done += int(executed[1]) if executed else trials
        job.slices += 1
        job.spent += took
        job.longer(took)

    def cut_short(self):
        """Ends what may take minutes and is of no use in part."""
        for job in self.jobs:
            process = self.busy.get(id(job))
            if job.kind == "deep tests" and process and not job.cut_short:
                job.cut_short = True
                os.killpg(process.pid, signal.SIGTERM)

    def stop(self):
        self.found = self.found or ("stopped", "")
        for process in list(self.busy.values()):
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)

    def tell(self):
        """What was tried of each kind: how much in all, and how much of whoever got least."""
        for kind in KINDS:
            jobs = [job for job in self.jobs if job.kind == kind]
            if not jobs:
                continue
            least = min(jobs, key=lambda job: job.done)
            print(f"soak: {kind}: {sum(job.done for job in jobs)} in {sum(job.spent for job in jobs):.0f} s, at least {least.done} ({least.of})")

    def go(self):
        print(f"soak: {SECONDS:.0f} s, seed {SEED}, {len(self.jobs)} kinds of trials and what they are of", flush=True)
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(AT_A_TIME)]
        for worker in workers:
            worker.start()
        spoke = time.monotonic()
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.2)
            if time.monotonic() - spoke > HEARTBEAT_SECONDS:
                spoke = time.monotonic()
                print(f"soak: {max(SECONDS - (spoke - self.began), 0):.0f} s left", flush=True)
            if self.found:
                self.stop()
            elif self.is_over():
                self.cut_short()
        self.tell()


def main():
    if FUZZES:
        subprocess.run(["checks/fuzz.sh"], cwd=ROOT, check=True)
    soak = Soak(all_jobs())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        soak.go()
    except (KeyboardInterrupt, SystemExit):
        soak.stop()
        soak.tell()
        print("soak: stopped")
        sys.exit(130)
    if soak.found:
        what, again = soak.found
        print(f"soak: FOUND by {what}\n\nThis repeats it, in {ROOT}:\n\n    {again}\n")
        sys.exit(1)
    print("soak: nothing was found")


try:
    main()
except subprocess.CalledProcessError as error:
    sys.exit(f"soak: nothing was tried: {error}")
except KeyboardInterrupt:
    # Before anything was tried: programs were built or listed.
    print("soak: stopped")
    sys.exit(130)
