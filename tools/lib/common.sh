# shellcheck shell=bash
# What tools/quickstart and tools/check share: packages, building, commands that an interrupt ends.
# Expects SOURCE_DIR, and PROGRAM (the name in messages).

# One word for the whole output, whatever the user's language.
export LC_ALL=C.UTF-8
# What ccache holds stays below build/, unless CCACHE_DIR says where checkouts of the same source share
# it, wherever they lie.
export CCACHE_DIR=${CCACHE_DIR:-$SOURCE_DIR/build/ccache}
export CCACHE_BASEDIR=$SOURCE_DIR CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*"; }

# give_up MESSAGE [REMEDY]: the work cannot be done here at all.
give_up() {
    printf '%s: %s\n' "$PROGRAM" "$1" >&2
    (($# < 2)) || printf '%s\n' "${*:2}" >&2
    exit 2
}

# --- commands that an interrupt ends -----------------------------------------------------------------

CHILD_GROUP=

# start_group LOG COMMAND...: in the background, in a process group of its own, so that the whole of
# it can be ended. Its id is CHILD_GROUP.
start_group() {
    local log=$1
    shift
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    CHILD_GROUP=$!
    set +m
}

group_lives() { kill -0 -- "-$1" 2>/dev/null; }

# end_group GROUP SECONDS: asks it to end, and ends it when it takes too long.
end_group() {
    local group=$1 deadline=$((SECONDS + $2))
    kill -TERM -- "-$group" 2>/dev/null
    while group_lives "$group" && ((SECONDS < deadline)); do
        sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null
    wait "$group" 2>/dev/null
}

end_child_group() {
    [[ -n $CHILD_GROUP ]] || return 0
    end_group "$CHILD_GROUP" 10
    CHILD_GROUP=
}

# run_logged LOG COMMAND...: waits for it; says every 30 s what it is at. Its exit status.
run_logged() {
    local log=$1 status next=$((SECONDS + 30))
    start_group "$@"
    while kill -0 "$CHILD_GROUP" 2>/dev/null; do
        sleep 0.2
        if ((SECONDS >= next)); then
            next=$((SECONDS + 30))
            printf '      ... %s\n' "$(tail -n 1 "$log" | cut -c 1-100)"
        fi
    done
    wait "$CHILD_GROUP"
    status=$?
    CHILD_GROUP=
    return $status
}

# --- packages ----------------------------------------------------------------------------------------

# missing_packages USE...: those of tools/packages.txt for these uses that are not installed.
missing_packages() {
    local use package what
    for use in "$@"; do
        while read -r package what; do
            [[ $what == "$use" ]] || continue
            dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
                printf '%s\n' "$package"
        done < <(grep -v -e '^#' -e '^$' "$SOURCE_DIR/tools/packages.txt")
    done
}

# install_packages LOG USE...
install_packages() {
    local log=$1 missing as_root=()
    shift
    if ! command -v dpkg-query >/dev/null; then
        say "      not a Debian machine: what tools/packages.txt lists is taken to be here"
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]} == 0)); then
        return 0
    fi
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            give_up "these packages are missing, and installing them takes root: ${missing[*]}" \
                "Run as root: apt-get install --no-install-recommends ${missing[*]}"
        as_root=(sudo)
        # Here, where the user can type a password; the commands below have no terminal.
        sudo -v || give_up "sudo refused; these packages are missing: ${missing[*]}"
    fi
    say "      installing: ${missing[*]}"
    run_logged "$log" "${as_root[@]}" sh -c \
        'export DEBIAN_FRONTEND=noninteractive
         apt-get update -q && apt-get install -y -q --no-install-recommends "$@"' \
        apt-get "${missing[@]}" || {
        tail -n 20 "$log" >&2
        give_up "the packages could not be installed; the whole output is in $log"
    }
}

# --- building ----------------------------------------------------------------------------------------

# with_ccache COMPILER: the compiler behind ccache when it is here.
with_ccache() {
    if command -v ccache >/dev/null; then
        printf 'ccache %s' "$1"
    else
        printf '%s' "$1"
    fi
}

# configure LOG DIRECTORY CC CXX OPTION...: does nothing when it is done already with these options.
configure() {
    local log=$1 directory=$2 cc=$3 cxx=$4 done_with
    shift 4
    # The place, too: meson remembers it, and a checkout can be moved.
    done_with="$SOURCE_DIR $cc $cxx $*"
    if [[ -f $directory/build.ninja && $(cat "$directory/configured" 2>/dev/null) == "$done_with" ]]; then
        return 0
    fi
    # A configuration that was interrupted, or made with other options, is made afresh; ccache keeps
    # what it compiled.
    rm -rf "$directory"
    run_logged "$log" env CC="$(with_ccache "$cc")" CXX="$(with_ccache "$cxx")" \
        meson setup "$directory" "$SOURCE_DIR" "$@" || return
    printf '%s\n' "$done_with" >"$directory/configured"
}
