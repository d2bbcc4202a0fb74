#!/usr/bin/env python3
"""Every recorded machine has a test that reads it, as the table of tests/golden/README.md says.

usage: golden.py SOURCE_ROOT
"""

import pathlib
import re
import sys

FOLDERS = ("captured", "sysfs", "topology")
ROW = re.compile(r"^\| ((?:captured|sysfs|topology)/\S+) \| .* \| ([^|]+) \|$", re.MULTILINE)


def check(tests):
    golden = tests / "golden"
    table = dict(ROW.findall((golden / "README.md").read_text(encoding="utf-8")))
    recorded = {f"{folder}/{path.name}" for folder in FOLDERS for path in (golden / folder).iterdir()}
    wrong = [f"{name} is not in the table" for name in sorted(recorded - set(table))]
    wrong += [f"{name} is in the table and not there" for name in sorted(set(table) - recorded)]
    for name, readers in table.items():
        # A test may name a machine, and add the endings of its files by itself.
        machine = pathlib.PurePath(name).name.split(".")[0]
        for reader in readers.split(", "):
            path = tests / reader.strip()
            if not path.is_file():
                wrong.append(f"{name}: there is no {reader}")
            elif machine not in path.read_text(encoding="utf-8"):
                wrong.append(f"{name}: {reader} does not name it")
    return wrong, len(table)


def main():
    wrong, rows = check(pathlib.Path(sys.argv[1]) / "tests")
    for line in wrong:
        print(line)
    if rows == 0:
        print("no row was found")
    return 1 if wrong or rows == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
