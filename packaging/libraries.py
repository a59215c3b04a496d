"""The libraries of others that programs contain, as cargo knows them."""

import json
import subprocess


def metadata() -> dict:
    """What cargo knows of all packages."""
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def contained(known: dict, names: list[str]) -> list[dict]:
    """Those of `known` that the packages with these names contain, and that are none of this project, by name."""
    packages = [word for name in names for word in ("--package", name)]
    command = ["cargo", "tree", "--locked", *packages, "--edges=normal,no-proc-macro", "--prefix=none", "--format={p}"]
    tree = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    inside = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    others = [it for it in known["packages"] if it["source"] and (it["name"], f"v{it['version']}") in inside]
    if not others:
        raise SystemExit(f"{names} contain no libraries of others, which cannot be")
    return sorted(others, key=lambda it: (it["name"], it["version"]))
