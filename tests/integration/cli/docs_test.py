#!/usr/bin/env python3
"""Every console block in the documents shows what the program really says. Prints TAP.

usage: docs_test.py CXLPOOLCTL SOURCE_DIR

In a block that begins with ```console, a line "$ COMMAND" is run; it goes on in the next line after
\\ or | at its end, and in lines that begin with "> ". The lines up to the next command must be what
it prints to standard output and standard error; "..." stands for any lines. The commands of
one block share one shell and one directory.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

MARK = "\x01end of command\x01"


def blocks(text):
    for found in re.finditer(r"^```console\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, found.start()) + 1, found.group(1)


def commands(block):
    """Pairs of a command and the lines that it should print."""
    pairs = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith(("\\", "|")):
                command += "\n" + next(lines)
            pairs.append((command, []))
        elif line.startswith("> "):
            pairs[-1] = (pairs[-1][0] + "\n" + line[2:], [])
        else:
            assert pairs, f"a block begins with output: {line!r}"
            pairs[-1][1].append(line.rstrip())
    return pairs


def run(pairs, ctl, source):
    script = "status=0\n"
    for command, _ in pairs:
        script += f"(exit $status)\n{command}\nstatus=$?\nprintf '%s\\n' '{MARK}'\n"
    with tempfile.TemporaryDirectory() as directory:
        for name in ("examples", "tests"):
            os.symlink(source / name, pathlib.Path(directory) / name)
        environment = dict(os.environ, LC_ALL="C.UTF-8",
                           PATH=f"{ctl.parent}:{os.environ['PATH']}")
        environment.pop("CXLPOOL_ADMIN_SOCKET", None)
        done = subprocess.run(["bash", "-c", "exec 2>&1\n" + script], cwd=directory,
                              env=environment, stdin=subprocess.DEVNULL, text=True, check=False,
                              stdout=subprocess.PIPE, timeout=60)
    return done.stdout.split(MARK + "\n")[:-1]


def matches(wanted, got):
    pattern = "".join(r"(.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in wanted)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in got)) is not None


def main():
    ctl = pathlib.Path(sys.argv[1]).resolve()
    source = pathlib.Path(sys.argv[2]).resolve()
    number = 0
    print("TAP version 13")
    for page in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        for line, block in blocks(page.read_text(encoding="utf-8")):
            pairs = commands(block)
            printed = run(pairs, ctl, source)
            assert len(printed) == len(pairs), (page, line, printed)
            for (command, wanted), output in zip(pairs, printed):
                number += 1
                good = matches(wanted, output.splitlines())
                first = command.splitlines()[0]
                print(f"{'ok' if good else 'not ok'} {number} - {page.name}:{line}: {first}")
                if not good:
                    print("# it prints:\n" + "\n".join("# " + row for row in output.splitlines()))
    assert number > 0, "no console block"
    print(f"1..{number}")


if __name__ == "__main__":
    main()
