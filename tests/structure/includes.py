#!/usr/bin/env python3
"""A module includes only what the table of ARCHITECTURE.md lets it include.

usage: includes.py SOURCE_ROOT

Also holds: the libraries of the CXL stack are included by topology/live alone (and libnuma's node
binding by memory), and the public headers include nothing of src/.
"""

import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "domain": {"base"},
    "topology": {"base", "domain"},
    "wire": {"base"},
    "memory": {"base"},
    "registry": {"base", "domain", "memory"},
    "replay": {"base", "domain", "memory", "registry"},
    "state": {"base", "domain"},
    "server": {"base", "domain", "topology", "wire", "memory", "registry", "state"},
    "daemon": {"base", "domain", "topology", "wire", "memory", "registry", "state", "server"},
    "client": {"base", "domain", "wire"},
}
TOOLS = {"base", "domain", "topology", "wire", "registry", "replay", "client"}
HARDWARE = re.compile(r"^(cxl/libcxl|daxctl/libdaxctl|libcxl|libdaxctl|ndctl/)")
NUMA = re.compile(r"^numa(if|compat1)?\.h$")
NUMA_USER = "memfd_provider.cpp"  # binds the segments that it makes
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def includes_of(path):
    for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
        yield match.group(1), match.group(2)


def check(root):
    wrong = []
    seen = 0
    modules = [(root / "src" / name, name, allowed) for name, allowed in ALLOWED.items()]
    modules.append((root / "tools" / "cxlpoolctl", "cxlpoolctl", TOOLS))
    for folder, name, allowed in modules:
        for path in sorted(folder.rglob("*.[ch]pp")):
            seen += 1
            live = name == "topology" and "live" in path.relative_to(folder).parts
            for kind, target in includes_of(path):
                first = target.split("/")[0]
                if kind == '"' and first in ALLOWED and first != name and first not in allowed:
                    wrong.append(f"{path}: {name} may not include {target}")
                if HARDWARE.match(target) and not live:
                    wrong.append(f"{path}: only topology/live may include {target}")
                if NUMA.match(target) and not live and path.name != NUMA_USER:
                    wrong.append(f"{path}: only topology/live and {NUMA_USER} may include {target}")
                if name == "topology" and not live and target.startswith("topology/live/"):
                    wrong.append(f"{path}: the pure part of topology may not include {target}")
    for path in sorted((root / "include").rglob("*.h*")):
        seen += 1
        for kind, target in includes_of(path):
            if kind == '"' and not target.startswith("cxlpool/"):
                wrong.append(f"{path}: a public header may not include {target}")
    listed = {p.name for p in (root / "src").iterdir() if p.is_dir()}
    for name in sorted(listed ^ set(ALLOWED)):
        wrong.append(f"src/{name}: not in the table, or in the table and not there")
    if seen < 50:
        wrong.append(f"only {seen} files were found below {root}: the check looks at nothing")
    return wrong, seen


def main():
    wrong, seen = check(pathlib.Path(sys.argv[1]))
    for line in wrong:
        print(line)
    print(f"{seen} files, {len(wrong)} wrong includes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
