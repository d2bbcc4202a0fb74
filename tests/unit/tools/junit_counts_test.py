#!/usr/bin/env python3
"""Tests of tools/lib/junit_counts.py.  usage: junit_counts_test.py SCRIPT"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = ""


class JunitCounts(unittest.TestCase):
    def count(self, suites, programs, label=()):
        with tempfile.TemporaryDirectory() as directory:
            base = Path(directory) / "run"
            Path(f"{base}.junit.xml").write_text(f"<testsuites>{suites}</testsuites>",
                                                 encoding="utf-8")
            Path(f"{base}.json").write_text(
                "\n".join(json.dumps({"name": name, "result": result, "returncode": status})
                          for name, result, status in programs), encoding="utf-8")
            done = subprocess.run([sys.executable, SCRIPT, str(base), *label], check=True,
                                  capture_output=True, text=True)
        return done.stdout.splitlines()

    GOOD = ('<testsuite name="p.gate.Judge"><testcase classname="Judge" name="A"/>'
            '<testcase classname="Judge" name="B"/></testsuite>')

    def test_counts_each_case(self):
        self.assertEqual(self.count(self.GOOD, [("gate", "OK", 0)]), ["TOTAL 2 0 0"])

    def test_names_failures_and_skips_with_their_reason(self):
        lines = self.count(
            '<testsuite name="p.gate.Judge"><testcase classname="Judge" name="A">'
            '<failure message="file:1&#10;Expected x"/></testcase>'
            '<testcase classname="Judge" name="B" result="skipped">'
            '<skipped message="file:2&#10;needs root"/></testcase></testsuite>',
            [("gate", "FAIL", 1)], ("unit",))
        self.assertEqual(lines, ["      FAILED  unit: Judge.A: Expected x",
                                 "      SKIPPED unit: Judge.B: needs root", "TOTAL 0 1 1"])

    def test_a_program_that_fails_after_its_last_case_is_a_failure(self):
        lines = self.count(self.GOOD, [("p:unit / gate", "FAIL", 1)])
        self.assertEqual(lines[-1], "TOTAL 2 1 0")
        self.assertIn("gate: the program ended with FAIL, status 1", lines[0])

    def test_a_program_that_timed_out_is_a_failure_not_a_pass(self):
        lines = self.count('<testsuite name="p"><testcase name="slow"/></testsuite>',
                           [("slow", "TIMEOUT", -15)])
        self.assertEqual(lines[-1], "TOTAL 0 1 0")

    def test_a_program_without_cases_is_one(self):
        self.assertEqual(
            self.count('<testsuite name="p"><testcase name="table"/></testsuite>',
                       [("table", "OK", 0)]), ["TOTAL 1 0 0"])

    def test_a_script_says_why_it_skips_in_its_last_line(self):
        lines = self.count('<testsuite name="p"><testcase name="users"><skipped/>'
                           '<system-out>begin\nneeds root\n</system-out></testcase></testsuite>',
                           [("users", "SKIP", 77)])
        self.assertEqual(lines, ["      SKIPPED users: needs root", "TOTAL 0 0 1"])

    def test_tap_cases_are_named_after_their_program(self):
        lines = self.count('<testsuite name="p.cli"><testcase name="help"/><testcase name="pipe">'
                           '<failure/></testcase></testsuite>', [("cli", "FAIL", 0)])
        self.assertEqual(lines, ["      FAILED  cli.pipe", "TOTAL 1 1 0"])


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    unittest.main()
