#!/usr/bin/env python3
"""Every program has a name that `meson compile NAME` takes: no other target has it.

usage: targets.py BUILD_DIRECTORY
"""
import collections
import json
import pathlib
import sys


def main() -> int:
    info = pathlib.Path(sys.argv[1]) / "meson-info" / "intro-targets.json"
    targets = json.loads(info.read_text())
    kinds = collections.defaultdict(list)
    for target in targets:
        kinds[target["name"]].append(target["type"])
    programs = [name for name, of in kinds.items() if "executable" in of]
    wrong = [name for name in programs if len(kinds[name]) > 1]
    for name in wrong:
        print(f"{name}: {len(kinds[name])} targets have this name: {', '.join(kinds[name])}")
    print(f"{len(programs)} programs, {len(wrong)} ambiguous names")
    return 1 if wrong or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
