#!/usr/bin/env python3
"""Turns the sysfs tree that a guest left into one JSON file.

usage: sysfs_to_json.py DIRECTORY ABOUT >FILE

DIRECTORY holds sysfs/sys/...; the output has the files with their text and the links with their
targets, each keyed by its path without the leading slash. Binary attributes and counters are left
out: the former have no text, the latter no meaning in a record."""

import json
import os
import sys


COUNTERS = ("aer_", "numastat", "vmstat")


def read_tree(root):
    files, links = {}, {}
    for directory, names, leaves in os.walk(root):
        names[:] = sorted(name for name in names if name != "power")
        for name in sorted(names + leaves):
            path = os.path.join(directory, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path):
                links[key] = os.readlink(path)
            elif os.path.isfile(path) and not name.startswith(COUNTERS):
                with open(path, "rb") as attribute:
                    content = attribute.read()
                try:
                    text = content.decode("utf-8")
                except UnicodeDecodeError:
                    continue
                if "\0" not in text:
                    files[key] = text
    return files, links


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    files, links = read_tree(os.path.join(sys.argv[1], "sysfs"))
    if not files:
        sys.exit(f"no sysfs tree in {sys.argv[1]}")
    json.dump({"about": sys.argv[2], "files": files, "links": links}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
