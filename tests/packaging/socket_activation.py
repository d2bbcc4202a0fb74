#!/usr/bin/env python3
"""The daemon takes the sockets of the units as systemd passes them, and refuses wrong ones.

usage: socket_activation.py CXLPOOLD
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

CONFIG = """tenancy = "multi"
state_directory = "{0}/state"
[listen]
engine = "{0}/unused-engine.sock"
admin = "{0}/unused-admin.sock"
[[pool]]
name = "embedded"
provider = "memfd"
capacity = "16MiB"
private_segment = "1MiB"
[[grant]]
uid = {1}
roles = ["admin"]
"""


LISTENER = """[[tenant]]
id = 1
[[listener]]
path = "{0}/2.sock"
tenants = [1]
"""


def start(daemon, directory, names, config_more=""):
    """The helper of systemd, once it listens; it becomes the daemon at the first connection."""
    config = directory / "cxlpoold.toml"
    config.write_text(CONFIG.format(directory, os.getuid()) + config_more.format(directory),
                      encoding="utf-8")
    command = ["systemd-socket-activate", "--seqpacket", "--fdname=" + ":".join(names)]
    for index in range(len(names)):
        path = directory / f"{index}.sock"
        path.unlink(missing_ok=True)
        command += ["-l", str(path)]
    process = subprocess.Popen(command + [daemon, "--config", str(config)], stderr=subprocess.PIPE,
                               text=True)
    for _ in names:
        line = process.stderr.readline()
        assert line.startswith("Listening on"), line
    return process


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(60)
    peer.connect(str(path))
    return peer


def served(daemon, directory, names=("engine", "admin"), config_more=""):
    process = start(daemon, directory, names, config_more)
    try:
        for index in range(len(names)):
            (directory / f"{index}.sock").chmod(0o660)
        for index in range(len(names)):
            with connect(directory / f"{index}.sock") as peer:
                peer.send(b"garbage")
                while peer.recv(65536):  # an answer, perhaps; then the daemon hangs up
                    pass
        assert process.poll() is None, process.stderr.read()
        assert not list(directory.glob("unused-*")), "it made sockets although it had some"
    finally:
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "ready" in said, said


def refused(daemon, directory, names, words, mode=0o660, config_more=""):
    process = start(daemon, directory, names, config_more)
    try:
        for index in range(1, len(names)):
            (directory / f"{index}.sock").chmod(mode)
        with connect(directory / "0.sock"):
            _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 2, (process.returncode, said)
    assert words in said, said
    assert not list(directory.glob("unused-*")), said


def main():
    if shutil.which("systemd-socket-activate") is None:
        print("skipped: no systemd-socket-activate")
        return 77
    daemon = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        served(daemon, directory)
        refused(daemon, directory, ["engine", "admin"], "SocketMode=0660", mode=0o666)
        refused(daemon, directory, ["engine", "control"], "FileDescriptorName=")
        refused(daemon, directory, ["engine", "engine"], "passed twice")
        three = ["engine", "admin", "listener"]
        served(daemon, directory, three, LISTENER)
        refused(daemon, directory, three, "no [[listener]]")
        refused(daemon, directory, ["engine", "listener", "listener"], "SocketMode=0660",
                mode=0o666, config_more=LISTENER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
