# shellcheck shell=dash
# Guest-side helpers of the scenarios; busybox sh. Sourced by init and by every scenario.
#
# A scenario prints one line for each check:
#   GUEST ok NAME - text        GUEST not-ok NAME - text        GUEST skip NAME - reason
# through report, check, check_status and skip below. The lines go to the second serial port, where
# no kernel message can get between, and to the console for the reader of the log.

RESULTS=/dev/ttyS1
OUT=/out

report() {
    echo "GUEST $*"
    echo "GUEST $*" >"$RESULTS"
}

# --- the machine -------------------------------------------------------------------------------

guest_mounts() {
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs devtmpfs /dev
    mkdir -p /dev/shm /dev/pts
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    mount -t tmpfs -o mode=755 tmpfs /run
    ln -sf /proc/self/fd /dev/fd
    ip link set lo up
}

# kernel_argument NAME: the value of NAME=value on the kernel command line.
kernel_argument() {
    local word
    for word in $(cat /proc/cmdline); do
        case $word in
        "$1="*) echo "${word#*=}" ;;
        esac
    done
}

# Whether the runner was asked to record captures; copying sysfs takes a while.
recording() { grep -qw cxlpool.record /proc/cmdline; }

# scenario_directive SCRIPT KEY: the rest of the scenario's "#: KEY ..." line.
scenario_directive() {
    sed -n "s/^#: $2 //p" "$1"
}

load_modules() {
    local module
    for module in "$@"; do
        modprobe "$module" || echo "modprobe $module failed"
    done
}

# Everything in /out travels to the host as a tar archive on the raw disk.
save_results() {
    tar -C "$OUT" -cf - . | dd of=/dev/vda bs=64k conv=fsync 2>/dev/null
}

# --- checks --------------------------------------------------------------------------------------

# check NAME TEXT COMMAND...: ok when COMMAND succeeds. Its output is kept as /out/NAME.txt and
# shown on the console when it fails.
check() {
    check_status 0 "$@"
}

# check_status STATUS NAME TEXT COMMAND...: ok when COMMAND ends with exactly that status.
check_status() {
    local expected=$1 name=$2 text=$3 status
    shift 3
    "$@" >"$OUT/$name.txt" 2>&1
    status=$?
    if [ $status -eq "$expected" ]; then
        report "ok $name - $text"
        return 0
    fi
    echo "--- $*"
    cat "$OUT/$name.txt"
    echo "---"
    report "not-ok $name - $text (status $status, expected $expected)"
    return 1
}

skip() {
    local name=$1
    shift
    report "skip $name - $*"
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds; fails when the time is over.
wait_for() {
    local left=$(($1 * 5))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        usleep 200000
    done
}

# json FILE FILTER: true when the jq filter gives true (not false, not null) for the file.
json() {
    jq -e "$2" "$1" || {
        echo "does not hold: $2"
        echo "in $1:"
        cat "$1"
        return 1
    }
}

# save_output FILE COMMAND...: standard output to the file; standard error stays where it is.
save_output() {
    local file=$1
    shift
    "$@" >"$file" || {
        cat "$file"
        return 1
    }
}

have_programs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

# --- CXL and dax -----------------------------------------------------------------------------------

# memdev_by_serial SERIAL: the name of the memdev. Numbers change from boot to boot, serials do not.
memdev_by_serial() {
    local memdev
    for memdev in /sys/bus/cxl/devices/mem*; do
        [ -e "$memdev/serial" ] || continue
        if [ $(($(cat "$memdev/serial"))) -eq "$1" ]; then
            basename "$memdev"
            return 0
        fi
    done
    return 1
}

# create_pmem_region SERIAL...: a persistent region over these devices, in that interleave order,
# and a devdax namespace over all of it.
create_pmem_region() {
    local serial memdevs=""
    for serial in "$@"; do
        wait_for 30 memdev_by_serial "$serial" || {
            echo "no memdev has the serial $serial"
            return 1
        }
        memdevs="$memdevs $(memdev_by_serial "$serial")"
    done
    # The decoder exists once the ports are enumerated, a little later than the memdevs.
    wait_for 30 test -e /sys/bus/cxl/devices/decoder0.0 || return 1
    cxl create-region -t pmem -m -d decoder0.0 -w $# $memdevs || return 1
    ndctl create-namespace -m devdax -r region0 -a 2M || return 1
    wait_for 30 test -c /dev/dax0.0
}

# copy_sysfs PATTERN...: copies what lies below these paths to /out/sysfs, contents and links.
# The size that sysfs reports is a page for every attribute, so each file is read to its end.
copy_sysfs() {
    local root file
    for root in "$@"; do
        [ -e "$root" ] || continue
        find "$root" -type d | while read -r file; do mkdir -p "$OUT/sysfs$file"; done
        mkdir -p "$OUT/sysfs$(dirname "$root")"
        find "$root" -type l | while read -r file; do
            ln -sfn "$(readlink "$file")" "$OUT/sysfs$file"
        done
        find "$root" -type f -perm -0400 | while read -r file; do
            cat "$file" >"$OUT/sysfs$file" 2>/dev/null || rm -f "$OUT/sysfs$file"
        done
    done
}

# --- the daemon ------------------------------------------------------------------------------------

ENGINE_SOCKET=/run/cxlpool/engine.sock
ADMIN_SOCKET=/run/cxlpool/admin.sock
DAEMON_PID=/run/cxlpoold.pid

# Users: tenant 1, tenant 2, and one that no grant names.
UID_A=1001
UID_B=1002
UID_NOBODY=1003

ctl() {
    CXLPOOL_ADMIN_SOCKET=$ADMIN_SOCKET cxlpoolctl "$@"
}

# write_config FILE POOL_LINE...: a configuration in mode multi with one devdax pool and the users
# above; each POOL_LINE is a line of the pool's table.
write_config() {
    local file=$1 line
    shift
    {
        echo 'tenancy = "multi"'
        printf '[listen]\nengine = "%s"\nadmin = "%s"\n' "$ENGINE_SOCKET" "$ADMIN_SOCKET"
        printf '[[pool]]\nname = "cxl0"\nprovider = "devdax"\n'
        for line in "$@"; do echo "$line"; done
        printf '[[tenant]]\nid = 1\nname = "alpha"\n[[tenant]]\nid = 2\nname = "beta"\n'
        printf '[[grant]]\nuid = %s\ntenants = [1]\nroles = ["engine"]\n' "$UID_A"
        printf '[[grant]]\nuid = %s\ntenants = [2]\nroles = ["engine"]\n' "$UID_B"
        printf '[[grant]]\nuid = 0\nroles = ["admin", "inspector", "adjudicator"]\n'
    } >"$file"
}

# start_daemon CONFIG: in the background, until it answers.
start_daemon() {
    mkdir -p /run/cxlpool /var/lib/cxlpool
    cxlpoold --config "$1" >"$OUT/cxlpoold.log" 2>&1 &
    echo $! >"$DAEMON_PID"
    wait_for 60 daemon_answers_or_gone
    ctl status && return 0
    cat "$OUT/cxlpoold.log"
    return 1
}

daemon_answers_or_gone() {
    ctl status || ! kill -0 "$(cat "$DAEMON_PID")"
}

# stop_daemon: asks it to end and gives its exit status. Only in the shell that started it.
stop_daemon() {
    local pid
    pid=$(cat "$DAEMON_PID") || return 1
    rm -f "$DAEMON_PID"
    kill -TERM "$pid" || return 1
    wait "$pid"
}

# try_daemon CONFIG: for a configuration that must be refused. The time limit ends a daemon that
# starts after all.
try_daemon() {
    mkdir -p /run/cxlpool /var/lib/cxlpool
    timeout 60 cxlpoold --config "$1"
}

# says FILE WORD...: every word stands in the file.
says() {
    local file=$1 word
    shift
    for word in "$@"; do
        grep -qF -- "$word" "$file" || {
            echo "'$word' is not said in $file:"
            cat "$file"
            return 1
        }
    done
}

# same_pools LIVE CAPTURED: two reports of cxlpoolctl topology agree on regions, dax devices and
# pools, as far as the tools' listings can say.
same_pools() {
    local filter='{regions: [.regions[] | {name, capacity_bytes, interleave_ways,
            interleave_granularity_bytes, type, state, host_bridges, memdevs}],
        dax: [.dax_devices[] | {name, capacity_bytes, align_bytes, mode, target_node, region}],
        pools: [.pools[] | {name, capacity_bytes, tier, region, memdevs, serials, hosts,
            cross_host_coherence, persistent, memory_node}]}'
    jq -S "$filter" "$1" >/tmp/live.json && jq -S "$filter" "$2" >/tmp/captured.json || return 1
    diff /tmp/live.json /tmp/captured.json
}

# tell_story BYTES: the two-tenant story against the running daemon.
tell_story() {
    mkdir -p /tmp/story
    STORY_ENGINE_SOCKET=$ENGINE_SOCKET STORY_ADMIN_SOCKET=$ADMIN_SOCKET STORY_DIR=/tmp/story \
        STORY_BYTES=$1 STORY_UID_A=$UID_A STORY_UID_B=$UID_B STORY_UID_NOBODY=$UID_NOBODY \
        sh /story/story.sh
}

# check_refusal POOL_LINE...: mode multi refuses the pool of one dax device without the override.
check_refusal() {
    write_config /run/refused.toml "$@"
    check_status 2 refusal "mode multi refuses a pool on one shared dax device, status 2" \
        try_daemon /run/refused.toml
    check refusal_text "the refusal names the pool, the line, the reason and the key that overrides" \
        says "$OUT/refusal.txt" "/run/refused.toml:" "'cxl0'" "cooperative" "allow_cooperative = true"
    check refusal_clean "nothing was started: no socket is there" \
        no_sockets
}

# check_story BYTES POOL_LINE...: the daemon on /dev/dax0.0, found by these lines of the pool's
# table, with the override; the story; a clean stop.
check_story() {
    local bytes=$1
    shift
    # What the project's udev rule does on a host: nobody but the daemon opens the device itself.
    chown 0:0 /dev/dax0.0
    chmod 0600 /dev/dax0.0
    write_config /run/cxlpoold.toml "$@" "allow_cooperative = true"
    check daemon "cxlpoold serves the pool with the override" start_daemon /run/cxlpoold.toml ||
        return 1
    check status "cxlpoolctl status --json" save_output "$OUT/status.json" ctl status --json
    check status_pool "the daemon serves cxl0: devdax, of the size of the device" \
        json "$OUT/status.json" "any(.pools[]; .name == \"cxl0\" and .provider == \"devdax\"
            and .capacity_bytes == $(cat /sys/bus/dax/devices/dax0.0/size))"
    check story "the two-tenant story on /dev/dax0.0, $bytes bytes" tell_story "$bytes"
    check node_closed "the engines' users cannot open the device themselves" engines_cannot_open
    check stop "cxlpoold ends with status 0 when asked" stop_daemon
    check stop_clean "it takes its sockets along" \
        no_sockets
}

no_sockets() {
    [ ! -e "$ENGINE_SOCKET" ] && [ ! -e "$ADMIN_SOCKET" ]
}

engines_cannot_open() {
    local uid
    for uid in "$UID_A" "$UID_B" "$UID_NOBODY"; do
        if as_uid "$uid" "$uid" sh -c ': </dev/dax0.0'; then
            echo "uid $uid opened /dev/dax0.0"
            return 1
        fi
    done
}
