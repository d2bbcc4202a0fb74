#!/usr/bin/env python3
"""udev rules are well formed and say what they should; udevadm has no check of its own before 254.

usage: udev_rules.py FILE
"""

import re
import sys

MATCH = {"==", "!="}
ASSIGN = {"=", "+=", ":="}
# The keys of udev(7) that we use, with the operators that each takes.
KEYS = {
    "ACTION": MATCH,
    "SUBSYSTEM": MATCH,
    "KERNEL": MATCH,
    "OWNER": ASSIGN,
    "GROUP": ASSIGN,
    "MODE": ASSIGN,
}
TOKEN = re.compile(r'([A-Z]+(?:\{[^}]*\})?)\s*(==|!=|\+=|:=|=)\s*"([^"@]*)"')


def parse(line):
    """[(key, operator, value)] of a rule, or ValueError."""
    tokens = []
    rest = line
    while rest:
        found = TOKEN.match(rest)
        if not found:
            raise ValueError(f"not a rule: {rest!r}")
        key, operator, value = found.groups()
        if key not in KEYS or operator not in KEYS[key]:
            raise ValueError(f"unknown key or operator: {key}{operator}")
        tokens.append((key, operator, value))
        rest = rest[found.end():]
        if rest:
            separator = re.match(r"\s*,\s*(?=\S)", rest)
            if not separator:
                raise ValueError(f"no comma before: {rest!r}")
            rest = rest[separator.end():]
    return tokens


def self_test():
    good = 'SUBSYSTEM=="dax", MODE="0660"'
    assert parse(good) == [("SUBSYSTEM", "==", "dax"), ("MODE", "=", "0660")]
    for wrong in ('SUBSYSTEM="dax"', 'MODE=="0660"', 'SUBSYSTEM=="dax" MODE="0660"', 'MOD="0660"',
                  'MODE=0660', 'GROUP="@dax_group@"', 'MODE="0660",'):
        try:
            parse(wrong)
        except ValueError:
            continue
        raise AssertionError(f"taken: {wrong}")


def main():
    self_test()
    rules = []
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                rules.append(dict((key + operator, value)
                                  for key, operator, value in parse(line.strip())))
    assert len(rules) == 1, rules
    rule = rules[0]
    assert rule["SUBSYSTEM=="] == "dax"
    assert rule["ACTION!="] == "remove", "a device that is created again gets its owner again"
    assert rule["OWNER="] == "root"
    assert re.fullmatch(r"[a-z][a-z0-9-]*", rule["GROUP="]), rule
    assert int(rule["MODE="], 8) & 0o007 == 0, "raw tenant bytes are not for everybody"


if __name__ == "__main__":
    main()
