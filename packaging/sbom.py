#!/usr/bin/env python3
"""Writes the bill of materials of programs, as CycloneDX 1.5 in JSON: `sbom.py PACKAGE...`.

Each library of others that they contain, with its license, where it came from, and the checksum that Cargo.lock holds it
to; and what needs which. Of one commit the same bill comes again.
"""

import json
import sys
import tomllib
from pathlib import Path

from libraries import contained, metadata

ROOT = Path(__file__).resolve().parent.parent


def component(it: dict, checksums: dict) -> dict:
    """A library, as the bill names it."""
    return {
        "type": "library",
        "bom-ref": reference(it),
        "name": it["name"],
        "version": it["version"],
        # What older crates write for OR.
        "licenses": [{"expression": it["license"].replace(" / ", "/").replace("/", " OR ")}],
        "purl": reference(it),
        "hashes": [{"alg": "SHA-256", "content": checksums[it["name"], it["version"]]}],
    }


def reference(it: dict) -> str:
    return f"pkg:cargo/{it['name']}@{it['version']}"


def main() -> None:
    names, known = sys.argv[1:], metadata()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(it["name"], it["version"]): it["checksum"] for it in lock if "checksum" in it}
    others = contained(known, names)
    by_id = {it["id"]: reference(it) for it in others}
    needs = {node["id"]: [dependency["pkg"] for dependency in node["deps"]] for node in known["resolve"]["nodes"]}
    version = next(it["version"] for it in known["packages"] if it["name"] == names[0])
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "imbrex", "name": "imbrex", "version": version}},
        "components": [component(it, checksums) for it in others],
        "dependencies": [
            {"ref": own, "dependsOn": sorted({by_id[id] for id in needs[it] if id in by_id})} for it, own in by_id.items()
        ],
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
