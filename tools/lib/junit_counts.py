#!/usr/bin/env python3
"""Counts the test cases of one meson test run.

usage: junit_counts.py LOGBASE [LABEL]

LOGBASE is the path that meson's log files begin with: LOGBASE.junit.xml has the cases,
LOGBASE.json the programs. Prints one line for each failed and each skipped case, and at last
"TOTAL passed failed skipped". A program that crashed, timed out or failed after its last case
counts as a failed case, for no case says so.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

GOOD_RESULTS = ("OK", "EXPECTEDFAIL", "SKIP")


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def outcome_of(case):
    """("passed" | "failed" | "skipped", reason)"""
    for tag in ("failure", "error"):
        if case.find(tag) is not None:
            return "failed", last_line(case.find(tag).get("message"))
    skipped = case.find("skipped")
    if skipped is not None or case.get("result") == "skipped":
        reason = skipped.get("message") if skipped is not None else ""
        # A script that skips says why in its last line.
        return "skipped", last_line(reason) or last_line(case.findtext("system-out"))
    return "passed", ""


def read_programs(path):
    """{name: (result, exit status)}"""
    programs = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            # meson puts "project:suite / " in front when there are several suites.
            name = record["name"].split(" / ")[-1]
            programs[name] = (record["result"], record["returncode"])
    return programs


def read_cases(path):
    """[(program, case, outcome, reason)]"""
    cases = []
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        # "project.program.TestSuite" for GoogleTest, "project" for a program that is one case.
        words = suite.get("name", "").split(".")
        for case in suite.iter("testcase"):
            if len(words) >= 3:
                program = words[1]
                name = f"{case.get('classname')}.{case.get('name')}"
            elif len(words) == 2:  # TAP: the program is the suite
                program = words[1]
                name = f"{program}.{case.get('name')}"
            else:
                program = name = case.get("name")
            cases.append((program, name, *outcome_of(case)))
    return cases


def correct(cases, programs):
    """The cases, with every program that failed having at least one failed case."""
    blamed = {program for program, _, outcome, _ in cases if outcome == "failed"}
    for program, (result, status) in programs.items():
        if result in GOOD_RESULTS or program in blamed:
            continue
        why = f"the program ended with {result}, status {status}"
        # meson lists a program that gave no report as one case of its own name.
        cases = [case for case in cases if case[:2] != (program, program)]
        cases.append((program, program, "failed", why))
    return cases


def main(arguments):
    if not 2 <= len(arguments) <= 3:
        sys.exit(__doc__)
    label = arguments[2] + ": " if len(arguments) == 3 else ""
    cases = correct(read_cases(arguments[1] + ".junit.xml"), read_programs(arguments[1] + ".json"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for _, name, outcome, reason in cases:
        counts[outcome] += 1
        if outcome != "passed":
            print(f"      {outcome.upper():8}{label}{name}{': ' if reason else ''}{reason}")
    print("TOTAL", counts["passed"], counts["failed"], counts["skipped"])


if __name__ == "__main__":
    main(sys.argv)
