#!/usr/bin/env python3
"""Every manual page is clean to mandoc, is installed, and the page of the configuration names every
key that the daemon reads.

usage: man_pages.py SOURCE_ROOT
"""

import pathlib
import re
import shutil
import subprocess
import sys


def lint(page):
    found = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return found.stdout.strip() or ("" if found.returncode == 0 else f"{page}: mandoc failed")


def undocumented_keys(root):
    keys = set()
    for source in ("config.cpp",):
        text = (root / "src/daemon" / source).read_text(encoding="utf-8")
        keys |= set(re.findall(r'(?:\{|CountLimit\{)"([a-z_]+)",\s*(?:\[|&Limits|[a-z]+_mode\})',
                               text))
    assert {"tenancy", "cells", "admin_mode", "serial", "roles", "lease_ttl_ms"} <= keys, keys
    page = (root / "man/cxlpoold.toml.5").read_text(encoding="utf-8")
    words = set(re.findall(r"[a-z_]+", " ".join(
        line for line in page.splitlines() if re.search(r"\bIc\b|^\.Ss", line))))
    return sorted(keys - words)


def main():
    root = pathlib.Path(sys.argv[1])
    if shutil.which("mandoc") is None:
        print("skipped: no mandoc")
        return 77
    pages = sorted(path for path in (root / "man").iterdir()
                   if re.fullmatch(r".+\.[1-8]", path.name))
    assert pages, "no pages"
    problems = [text for text in map(lint, pages) if text]
    installed = (root / "man/meson.build").read_text(encoding="utf-8")
    problems += [f"{page.name} is not in man/meson.build" for page in pages
                 if f"'{page.name}'" not in installed]
    problems += [f"cxlpoold.toml.5 does not document '{key}'" for key in undocumented_keys(root)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
