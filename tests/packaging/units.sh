#!/bin/sh
# The shipped units are what systemd accepts without a word, and stay hardened.
#
# usage: units.sh DIRECTORY_OF_CONFIGURED_UNITS INSTALLED_DAEMON
set -eu

units=$1
daemon=$2
command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

grep -q "^ExecStart=$daemon --config " "$units/cxlpoold.service" ||
    fail "ExecStart= is not where meson installs the daemon, $daemon"

# The daemon is not installed where the tests run, and verify wants to see the program.
cp "$units"/cxlpoold.service "$units"/cxlpoold-engine.socket "$units"/cxlpoold-admin.socket \
    "$scratch"
sed -i "s,^ExecStart=$daemon,ExecStart=/bin/true," "$scratch/cxlpoold.service"

verify() {
    systemd-analyze verify --man=no "$@" 2>&1
}
said=$(verify "$scratch"/cxlpoold.service "$scratch"/*.socket) || fail "verify: $said"
[ -z "$said" ] || fail "verify: $said"

# The check itself: a misspelt directive has to be noticed.
mkdir "$scratch/wrong"
sed 's/^WatchdogSec=/WatchdogSek=/' "$scratch/cxlpoold.service" >"$scratch/wrong/cxlpoold.service"
cp "$scratch"/*.socket "$scratch/wrong"
verify "$scratch/wrong/cxlpoold.service" | grep -q "WatchdogSek" ||
    fail "verify does not notice a misspelt directive"

# Case D03: systemd's default is a socket that everybody may write.
grep -qx "SocketMode=0660" "$units/cxlpoold-admin.socket" || fail "admin: SocketMode="
grep -q "^SocketGroup=." "$units/cxlpoold-admin.socket" || fail "admin: SocketGroup="
for name in engine admin; do
    grep -qx "FileDescriptorName=$name" "$units/cxlpoold-$name.socket" || fail "$name: name"
    grep -qx "Accept=no" "$units/cxlpoold-$name.socket" || fail "$name: Accept="
done

# Exposure as systemd counts it, 0 to 100; a directive that is lost shows.
systemd-analyze security --offline=yes --threshold=20 "$scratch/cxlpoold.service" \
    >"$scratch/security" 2>&1 || {
    cat "$scratch/security"
    fail "the service is more exposed than it was"
}
echo "ok: $(tail -n 1 "$scratch/security")"
