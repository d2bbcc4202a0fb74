#!/usr/bin/env python3
"""Takes each check out of the trust gate in turn: the corpus must notice every time.

usage: gate_checks.py BUILD_ROOT CORPUS_TEST   (inside a configured and built tree)

Compiles src/domain/gate.cpp once for each mutant, with the flags of the build, links it with the
objects of the corpus test, and runs that. Prints a table, and TAP for meson.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

GATE = "src/domain/gate.cpp"
CHECKS = 10  # those in the table of judge(); the eleventh is its last line

# What a mutant does besides leaving a check out of the table: (what, text, what stands instead).
OTHERS = [
    ("11 how_reached", "how_reached(requester, cell));", "Verdict::hit_in_place);"),
    ("the collapse in multi", "own ? Told(verdict) : Told();", "own ? Told(verdict) : Told(verdict);"),
]


def mutants(source):
    """(name, mutated source) of each mutant; every pattern must be there exactly once."""
    for check in range(1, CHECKS + 1):
        pattern = re.compile(rf"(\b)(check_\w+)\([^()]*\),( +// {check})$", re.MULTILINE)
        found = pattern.findall(source)
        if len(found) != 1:
            raise SystemExit(f"Bail out! {GATE}: check {check} is not one line of judge()")
        yield f"{check} {found[0][1]}", pattern.sub(r"\1kPass,\3", source)
    for name, text, instead in OTHERS:
        if source.count(text) != 1:
            raise SystemExit(f"Bail out! {GATE}: '{text}' stands there {source.count(text)} times")
        yield name, source.replace(text, instead)


class Builder:
    """Makes the corpus test anew around another gate.cpp."""

    def __init__(self, build_root, test):
        self.root = pathlib.Path(build_root)
        commands = json.loads((self.root / "compile_commands.json").read_text())
        command = next(c for c in commands if c["file"].endswith(GATE) and "libcxlpool_domain" in c["output"])
        self.source = (self.root / command["file"]).resolve()
        self.compile = self.without_outputs(shlex.split(command["command"]), command["file"])
        target = pathlib.Path(test).resolve().relative_to(self.root.resolve())
        listed = subprocess.run(["ninja", "-t", "commands", str(target)], cwd=self.root,
                                capture_output=True, text=True, check=True).stdout
        self.link = self.without_outputs(shlex.split(listed.splitlines()[-1]), None)

    @staticmethod
    def without_outputs(words, source):
        out, skip = [], False
        for word in words:
            if skip or word in (source, "-c", "-MD"):
                skip = False
            elif word in ("-o", "-MQ", "-MF"):
                skip = True
            else:
                out.append(word)
        return out

    def run(self, *command):
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"Bail out! {shlex.join(command)}\n{done.stderr}")

    def build(self, text, directory):
        source, linked = directory / "gate.cpp", directory / "corpus"
        source.write_text(text)
        # What a mutant leaves unused is no reason to warn. Its object comes first, so that the
        # gate in the library is not looked for.
        self.run(*self.compile, "-w", "-O0", "-g0", "-c", str(source), "-o", str(directory / "gate.o"))
        self.run(self.link[0], str(directory / "gate.o"), *self.link[1:], "-o", str(linked))
        return linked


def cases_that_fail(program):
    done = subprocess.run([program, "--gtest_filter=GateCorpus.TheGateAgrees"],
                          capture_output=True, text=True)
    names = dict.fromkeys(re.findall(r"^line \d+: (.*)$", done.stdout, re.MULTILINE))
    if (done.returncode != 0) != bool(names):
        raise SystemExit(f"Bail out! the corpus test ended with {done.returncode}\n{done.stdout}")
    return list(names)


def main(build_root, test):
    builder = Builder(build_root, test)
    source = builder.source.read_text()
    changes = [("nothing left out", source), *mutants(source)]
    print(f"1..{len(changes)}")
    print(f"# {'LEFT OUT':<30} {'CASES THAT FAIL':>15}  THE FIRST")
    missed = 0
    for number, (name, text) in enumerate(changes, 1):
        with tempfile.TemporaryDirectory() as directory:
            failing = cases_that_fail(builder.build(text, pathlib.Path(directory)))
        good = bool(failing) == (text != source)
        missed += not good
        print(f"# {name:<30} {len(failing):>15}  {failing[0] if failing else '-'}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
