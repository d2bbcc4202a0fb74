#!/bin/bash
# The command line of cxlpoolctl as a user meets it: exit statuses, streams, pipes, and documents that
# must agree with the program. No daemon is needed. Prints TAP.
# usage: cli_test.sh CXLPOOLCTL SOURCE_DIR
set -u -o pipefail

CTL=$1
SOURCE=$2
WORK=$(mktemp -d) || exit 99
trap 'rm -rf "$WORK"' EXIT
export LC_ALL=C.UTF-8
unset CXLPOOL_ADMIN_SOCKET
number=0

# report OK|NO NAME [DETAIL]
report() {
    number=$((number + 1))
    if [[ $1 == OK ]]; then
        printf 'ok %d - %s\n' "$number" "$2"
    else
        printf 'not ok %d - %s\n' "$number" "$2"
        printf '%s\n' "${3:-}" | sed 's/^/# /'
    fi
}

# run ARGUMENT...: leaves status, $WORK/out and $WORK/err.
run() {
    "$CTL" "$@" >"$WORK/out" 2>"$WORK/err"
    status=$?
}

# wants NAME STATUS OUT-PATTERN ERR-PATTERN: extended regular expressions; '' wants nothing at all.
wants() {
    local trouble=
    [[ $status == "$2" ]] || trouble+="status $status, not $2. "
    if [[ -z $3 ]]; then
        [[ ! -s $WORK/out ]] || trouble+='something on standard output. '
    else
        grep -qE -- "$3" "$WORK/out" || trouble+="no '$3' on standard output. "
    fi
    if [[ -z $4 ]]; then
        [[ ! -s $WORK/err ]] || trouble+='something on standard error. '
    else
        grep -qE -- "$4" "$WORK/err" || trouble+="no '$4' on standard error. "
    fi
    if [[ -z $trouble ]]; then
        report OK "$1"
    else
        report NO "$1" "$trouble"$'\n'"$(head -n 20 "$WORK/out" "$WORK/err")"
    fi
}

is_json() { python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$1"; }

plan=(plan fleet --tenants 8 --tokens 4000 --bytes 64MiB --recompute-ns-per-token 2000000)
captured=$SOURCE/tests/golden/captured
files=("$captured/guest-pmem.cxl-list.json" "$captured/guest-pmem.daxctl-list.json")

echo 'TAP version 13'

run --help
wants 'help is an answer' 0 '^usage: cxlpoolctl' ''
run
wants 'no arguments are wrong usage' 2 '' '^usage: cxlpoolctl'
run toplogy
wants 'a misspelt verb is refused with a suggestion' 2 '' "^cxlpoolctl: unknown verb 'toplogy'; did you mean 'topology'"
run topology --jsn
wants 'a misspelt option is refused with a suggestion' 2 '' "^cxlpoolctl: unknown option '--jsn'; did you mean '--json'"

run topology
wants 'the live topology is readable on any machine' 0 '^Source: this machine, now$' ''
run topology --json
wants 'the live topology is JSON' 0 '"source": ?"live"' ''
if is_json "$WORK/out"; then report OK 'the live topology parses'; else report NO 'the live topology parses' "$(head -c 2000 "$WORK/out")"; fi
run profile
wants 'the live profiles are readable on any machine' 0 '.' ''

run topology --from "${files[@]}" --json
wants 'captured files are read' 0 '"source": ?"captured"' ''
cp "$WORK/out" "$WORK/expected"
"$CTL" topology --from - "${files[1]}" --json <"${files[0]}" >"$WORK/out" 2>"$WORK/err"
status=$?
wants 'one of them may come through a pipe' 0 '.' ''
if cmp -s "$WORK/expected" "$WORK/out"; then report OK 'and gives the same'; else report NO 'and gives the same' "$(diff "$WORK/expected" "$WORK/out")"; fi

run topology --from "$WORK/absent.json"
wants 'an absent file is named' 2 '' "^cxlpoolctl: $WORK/absent.json: .*No such file or directory"
printf '[\n  {"memdev":"mem0"\n   "serial":1}\n]\n' >"$WORK/broken.json"
run topology --from "$WORK/broken.json"
wants 'broken JSON is refused with line and column' 2 '' "^cxlpoolctl: $WORK/broken.json:3:[0-9]+: "
run topology --from "$WORK/broken.json" --save "$WORK/snapshot.json"
if [[ ! -e $WORK/snapshot.json ]]; then report OK 'and nothing is saved then'; else report NO 'and nothing is saved then'; fi
# Listings as they were published, broken: what was saved before stays, byte for byte.
for broken in a03-invalid-missing-comma a03-invalid-open-string; do
    printf 'what was there\n' >"$WORK/kept.json"
    run topology --from "$captured/$broken.txt" --save "$WORK/kept.json"
    wants "$broken is refused with line and column" 2 '' "^cxlpoolctl: .*$broken.txt:[0-9]+:[0-9]+: "
    if [[ $(cat "$WORK/kept.json") == 'what was there' ]]; then report OK "$broken leaves the saved file alone"; else report NO "$broken leaves the saved file alone" "$(head -c 500 "$WORK/kept.json")"; fi
done
run topology --from "$captured/a05-legacy-type3-u64-serial-negative-extent.cxl-list.json" "$captured/a05-daxctl-list-empty.txt"
wants 'memory that firmware uses is told, and is no failure' 0 'in use as System RAM by firmware, nothing to pool' ''

run topology --from "${files[@]}" --save "$WORK/snapshot.json" --json
wants 'a snapshot is saved beside the answer' 0 '.' ''
run topology --from "$WORK/snapshot.json" --json
if [[ $status == 0 ]] && cmp -s "$WORK/expected" "$WORK/out"; then report OK 'a snapshot gives the same again'; else report NO 'a snapshot gives the same again' "$(cat "$WORK/err"; diff "$WORK/expected" "$WORK/out" | head -n 20)"; fi
if [[ $(find "$WORK" -name 'snapshot.json*' | wc -l) == 1 ]]; then report OK 'no temporary file is left'; else report NO 'no temporary file is left' "$(ls "$WORK")"; fi
run topology --from "${files[@]}" --save "$WORK/none/snapshot.json"
wants 'a snapshot that cannot be written is a failure' 1 '' "none/snapshot.json"

run "${plan[@]}" --tier cxl
wants 'the reference plan over cxl is coherent' 0 'coherent +yes +4000 +28000 +1 +64 MiB +448 MiB +300 ns' ''
run "${plan[@]}" --tier remote --json
wants 'the reference plan over remote has its stage cost' 0 '"reader_cost_ns": ?5692405' ''
run "${plan[@]}" --tier hdm
wants 'an unknown tier is refused' 2 '' "^cxlpoolctl: --tier: .*hdm"
run plan fleet --tenants 8
wants 'missing options are named' 2 '' '^cxlpoolctl: missing: --tokens, --bytes, --recompute-ns-per-token'
run "${plan[@]}" --hosts -1
wants 'a negative number is refused' 2 '' '--hosts'

sweep=(plan fleet --tokens 4000 --bytes 64MiB --recompute-ns-per-token 2000000 --sweep 'tenants=1..64*2')
run "${sweep[@]}"
wants 'a sweep gives one plan a line' 0 '^\{"inputs":\{"tenants":64,' ''
if [[ $(wc -l <"$WORK/out") == 7 ]]; then report OK 'and as many lines as points'; else report NO 'and as many lines as points'; fi
PATH=$WORK "$CTL" "${sweep[@]}" --plot "$WORK/plan.svg" >"$WORK/out" 2>"$WORK/err"
status=$?
wants 'without gnuplot there is no picture, and the package is named' 1 '.' 'apt-get install gnuplot-nox$'
mkdir "$WORK/bin"
printf '#!/bin/sh\necho "line 0: no such terminal" >&2; exit 3\n' >"$WORK/bin/gnuplot"
chmod +x "$WORK/bin/gnuplot"
PATH=$WORK/bin:$PATH "$CTL" "${sweep[@]}" --plot "$WORK/plan.svg" >"$WORK/out" 2>"$WORK/err"
status=$?
wants 'a gnuplot that fails is quoted' 1 '.' '^cxlpoolctl: --plot: gnuplot failed: line 0: no such terminal'
printf '#!/bin/sh\nprintf "<svg>half"\n' >"$WORK/bin/gnuplot"
PATH=$WORK/bin:$PATH "$CTL" "${sweep[@]}" --plot "$WORK/plan.svg" >"$WORK/out" 2>"$WORK/err"
status=$?
wants 'half a picture is none' 1 '.' 'wrote no whole picture'
if [[ ! -e $WORK/plan.svg ]]; then report OK 'and no file is written then'; else report NO 'and no file is written then'; fi
if command -v gnuplot >/dev/null; then
    run "${sweep[@]}" --plot "$WORK/plan.svg"
    wants 'gnuplot draws the sweep' 0 '.' ''
    if grep -q 'coherent (holds)' "$WORK/plan.svg" && grep -q 'prefill tokens' "$WORK/plan.svg"; then report OK 'with its regimes and axes'; else report NO 'with its regimes and axes'; fi
    run "${sweep[@]}" --plot /dev/null
    wants 'no picture replaces a device' 1 '.' '/dev/null: is no regular file'
else
    report OK 'gnuplot draws the sweep # SKIP gnuplot is not here'
fi

cells=$SOURCE/examples/ladder.placement.json
run plan placement --from "$cells"
wants 'a placement plan is a table and a summary' 0 '^5 cells: 1 keep, 1 promote, 1 demote, 0 spill, 1 evict; 1 left alone$' ''
cp "$WORK/out" "$WORK/expected"
"$CTL" plan placement --from - <"$cells" >"$WORK/out" 2>"$WORK/err"
status=$?
if [[ $status == 0 ]] && cmp -s "$WORK/expected" "$WORK/out"; then report OK 'its file may come through a pipe'; else report NO 'its file may come through a pipe' "$(cat "$WORK/err")"; fi
run plan placement --from "$cells" --json
wants 'a placement plan is JSON' 0 '"reason":"hot_promoted"' ''
if is_json "$WORK/out"; then report OK 'the placement plan parses'; else report NO 'the placement plan parses' "$(head -c 2000 "$WORK/out")"; fi
sed 's/"touches": 40/"touches": -40/' "$cells" >"$WORK/cells.json"
run plan placement --from "$WORK/cells.json" --json
wants 'a wrong cell is refused with line and column, and nothing is planned' 2 '' "^cxlpoolctl: $WORK/cells.json:[0-9]+:[0-9]+: touches is -40"
run plan placement
wants 'a placement plan needs its file' 2 '' '^cxlpoolctl: missing: --from'

run status --socket "$WORK/admin.sock"
wants 'a daemon that is not there is a failure, not a crash' 1 '' "^cxlpoolctl: unavailable: .*$WORK/admin.sock"
CXLPOOL_ADMIN_SOCKET=$WORK/other.sock "$CTL" status >"$WORK/out" 2>"$WORK/err"
status=$?
wants 'the environment names the socket' 1 '' "$WORK/other.sock"

# A reader that goes away ends the program quietly: by SIGPIPE, without a word.
"$CTL" topology --from "${files[@]}" 2>"$WORK/err" | true
code=${PIPESTATUS[0]}
if [[ ($code == 0 || $code == 141) && ! -s $WORK/err ]]; then report OK 'a broken pipe is quiet'; else report NO 'a broken pipe is quiet' "status $code: $(cat "$WORK/err")"; fi
"$CTL" topology --from "${files[@]}" >/dev/full 2>"$WORK/err"
status=$?
: >"$WORK/out"
wants 'a full disk is not taken for success' 1 '' '^cxlpoolctl: standard output: '
"$CTL" --version >&- 2>"$WORK/err"
status=$?
wants 'a closed standard output is not taken for success' 1 '' '^cxlpoolctl: standard output: '

script=$(command -v script || true)
if [[ -n $script ]]; then
    "$script" -qec "'$CTL' topology --from '${files[0]}' '${files[1]}'" /dev/null >"$WORK/tty" </dev/null
    if ! grep -q $'\e' "$WORK/tty" && grep -q 'dax0.0' "$WORK/tty"; then report OK 'a terminal gets no escape sequences'; else report NO 'a terminal gets no escape sequences' "$(cat -v "$WORK/tty")"; fi
else
    report OK 'a terminal gets no escape sequences # SKIP script(1) is not here'
fi

# The manual and the completion name every verb and every option that the help names.
"$CTL" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p' >"$WORK/verbs"
missing=
while IFS= read -r verb; do
    read -r -a words <<<"$verb"
    "$CTL" "${words[@]}" --help </dev/null | sed -nE 's/^  (--[a-z-]+).*/\1/p' >"$WORK/options"
    for word in "${words[@]}"; do
        grep -qw -- "$word" "$SOURCE/man/cxlpoolctl.1" || missing+="man: $verb. "
        grep -qw -- "$word" "$SOURCE/tools/cxlpoolctl/completion.bash" || missing+="completion: $verb. "
    done
    while IFS= read -r option; do
        grep -q -- "Fl Fl ${option#--}\\b" "$SOURCE/man/cxlpoolctl.1" || missing+="man: $verb $option. "
    done <"$WORK/options"
done <"$WORK/verbs"
if [[ -z $missing && $(wc -l <"$WORK/verbs") -ge 9 ]]; then report OK 'the manual and the completion are complete'; else report NO 'the manual and the completion are complete' "$missing"; fi

if command -v mandoc >/dev/null; then
    if mandoc -T lint -W warning "$SOURCE/man/cxlpoolctl.1" >"$WORK/lint" 2>&1; then report OK 'the manual has no mandoc warning'; else report NO 'the manual has no mandoc warning' "$(cat "$WORK/lint")"; fi
else
    report OK 'the manual has no mandoc warning # SKIP mandoc is not here'
fi

printf '1..%d\n' "$number"
