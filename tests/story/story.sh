#!/bin/sh
# The two-tenant story, against a running daemon in tenancy multi.
#
# One cell: engine A of tenant 1 writes it in place and seals it, engine B of tenant 2 attends it
# in place after the gate says yes, and loses it when the operator poisons it. Every step prints
# what was done and the verdict; the first surprise ends the story with status 1.
#
# Plain POSIX shell: dash on a host, busybox in a guest. Settings come from the environment:
#   STORY_ENGINE_SOCKET, STORY_ADMIN_SOCKET   where the daemon listens
#   STORY_BYTES      payload (default 8388608)
#   STORY_UID_A, STORY_UID_B, STORY_UID_NOBODY
#                    numeric users of tenant 1, of tenant 2, and one without a grant; needs root.
#                    All empty: everything runs as the calling user, and what that leaves unproven
#                    is said.
#   STORY_DIR        scratch directory, writable by the calling user
# Programs are taken from PATH: cxlpool-example-engine, cxlpoolctl, as_uid (with users only).
set -u

: "${STORY_ENGINE_SOCKET:?}" "${STORY_ADMIN_SOCKET:?}" "${STORY_DIR:?}"
bytes=${STORY_BYTES:-8388608}
uid_a=${STORY_UID_A:-}
uid_b=${STORY_UID_B:-}
uid_nobody=${STORY_UID_NOBODY:-}
# Fresh spans each time, so that the story can be told to a running daemon twice.
seed="story-$$-$(date +%s)"
span=$(printf '%s' "$seed" | sha256sum | cut -c1-64)
steps=0
holder=

fail() {
    echo "story: FAILED: $*"
    [ -z "$holder" ] || kill "$holder" 2>/dev/null
    exit 1
}

as() { # UID COMMAND...: as that user, or as the caller when UID is empty
    as_uid=$1
    shift
    if [ -n "$as_uid" ]; then
        as_uid "$as_uid" "$as_uid" "$@"
    else
        "$@"
    fi
}

engine() { # UID TENANT SUBCOMMAND [OPTION...]
    engine_uid=$1
    engine_tenant=$2
    engine_verb=$3
    shift 3
    as "$engine_uid" cxlpool-example-engine "$engine_verb" --socket "$STORY_ENGINE_SOCKET" \
        --tenant "$engine_tenant" --span "$span" "$@"
}
a() { verb=$1; shift; engine "$uid_a" 1 "$verb" "$@"; }
b() { verb=$1; shift; engine "$uid_b" 2 "$verb" "$@"; }
ctl() { CXLPOOL_ADMIN_SOCKET=$STORY_ADMIN_SOCKET cxlpoolctl "$@"; }

expect() { # WHAT WANTED OUTPUT: the wanted words stand somewhere in the output
    steps=$((steps + 1))
    case $3 in
    *"$2"*) printf '  %2d. %-66s %s\n' "$steps" "$1" "$2" ;;
    *) fail "$1: wanted '$2', got: $3" ;;
    esac
}

explain() { # WANTED MODEL
    b context --model "$2" >"$STORY_DIR/context.json" || fail "printing the context of B"
    out=$(ctl verdict --requester 2 --span "$span" --context "$STORY_DIR/context.json" 2>&1)
    expect "operator: explain, tenant 2, model $2" "$1" "$out"
}

echo "The story of one cell and two tenants (${bytes} bytes, span $(echo "$span" | cut -c1-12)...)"

out=$(a produce --bytes "$bytes" 2>&1) || fail "A: produce: $out"
expect "A (tenant 1): context, begin, write in place, seal" "sealed" "$out"

expect "B (tenant 2): lookup before anything is shared" "verdict=miss/absent" "$(b lookup 2>&1)"

out=$(a share --scope fleet 2>&1) || fail "A: share: $out"
expect "A: share" "scope=fleet" "$out"
expect "B: lookup, shared but not trusted" "verdict=miss/absent" "$(b lookup 2>&1)"
explain "untrusted" demo-model

out=$(ctl cell trust --owner 1 --span "$span" 2>&1) || fail "adjudicator: trust: $out"
expect "adjudicator: trust" "trust" "$out"
expect "B: lookup" "verdict=hit/in_place" "$(b lookup 2>&1)"

# B attends, proves what it may not do, and keeps its lease until it is told to let go.
log=$STORY_DIR/holder.log
: >"$log"
b attend --bytes "$bytes" --verify --prove-read-only --hold-until-revoked >"$log" 2>&1 &
holder=$!
tries=0
until grep -q '^holding' "$log"; do
    kill -0 "$holder" 2>/dev/null || fail "B: attend: $(cat "$log")"
    tries=$((tries + 1))
    [ "$tries" -le 600 ] || fail "B: attend never got hold of the cell: $(cat "$log")"
    sleep 0.2
done
expect "B: maps read-only, verifies every byte" "verified bytes=$bytes" "$(cat "$log")"
expect "B: a writable mapping of what it got" "writable mapping refused" "$(cat "$log")"
expect "B: opening it again for writing through /proc/self/fd" "re-open writable refused" \
    "$(cat "$log")"

expect "B with another model: lookup" "verdict=miss/absent" "$(b lookup --model other-model 2>&1)"
explain "model_mismatch" other-model

if [ -n "$uid_nobody" ]; then
    out=$(engine "$uid_nobody" 2 lookup 2>&1) && fail "a user without a grant was served: $out"
    expect "uid $uid_nobody, which no grant names" "not_permitted" "$out"
fi

out=$(ctl cell poison --owner 1 --span "$span" 2>&1) || fail "operator: poison: $out"
expect "operator: poison" "poison" "$out"
expect "B: next lookup" "verdict=miss/absent" "$(b lookup 2>&1)"
explain "quarantined" demo-model
wait "$holder" || fail "B: holding the lease: $(cat "$log")"
holder=
expect "B: the lease it held" "lease revoked" "$(cat "$log")"
expect "A: its own poisoned cell" "verdict=quarantined" "$(a lookup 2>&1)"

echo "story: $steps steps, as told"
if [ -z "$uid_nobody" ]; then
    echo "story: all of it ran as one user: that the kernel keeps two users apart, and that a user"
    echo "story: without a grant is refused, is NOT proven; run it as root for that."
fi
