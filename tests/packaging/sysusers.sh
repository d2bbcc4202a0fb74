#!/bin/sh
# The list of system groups is what systemd-sysusers accepts, and names the groups that the rule and
# the unit use.
#
# usage: sysusers.sh FILE UDEV_RULE ADMIN_SOCKET_UNIT
set -eu

command -v systemd-sysusers >/dev/null || { echo "skipped: no systemd-sysusers"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/etc"

said=$(systemd-sysusers --root="$scratch" "$1" 2>&1) || { echo "FAILED: $said"; exit 1; }
node_group=$(sed -n 's/.*GROUP="\([^"]*\)".*/\1/p' "$2")
socket_group=$(sed -n 's/^SocketGroup=//p' "$3")
for group in "$node_group" "$socket_group"; do
    grep -q "^$group:" "$scratch/etc/group" ||
        { echo "FAILED: nobody makes group '$group': $said"; exit 1; }
done
# Who operates the daemon must not reach the raw devices.
[ "$node_group" != "$socket_group" ] || { echo "FAILED: one group for both"; exit 1; }
