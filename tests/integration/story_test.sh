#!/bin/bash
# The two-tenant story against a real daemon on a memfd pool.
# usage: story_test.sh REACTOR CXLPOOLD CXLPOOLCTL ENGINE AS_UID LIBRARY STORY
set -u -o pipefail

reactor=$1
story=$7
dir=$(mktemp -d "${TMPDIR:-/tmp}/cxlpool-story.XXXXXX") || exit 99
daemon=
finish() {
    [[ -z $daemon ]] || { kill -TERM "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; }
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The programs are copied: other users may not be allowed into the build directory.
chmod 0755 "$dir"
mkdir "$dir/bin" "$dir/scratch" || exit 99
cp "$2" "$3" "$4" "$5" "$dir/bin" || exit 99
cp -L "$6" "$dir/bin/libcxlpool.so.0" || exit 99
export PATH=$dir/bin:$PATH LD_LIBRARY_PATH=$dir/bin

user_a=$UID user_b=$UID
if ((UID == 0)); then
    user_a=61001 user_b=61002
    export STORY_UID_A=$user_a STORY_UID_B=$user_b STORY_UID_NOBODY=61003
fi
{
    cat <<END
tenancy = "multi"
reactor = "$reactor"
state_directory = "$dir/state"
[listen]
engine = "$dir/engine.sock"
admin = "$dir/admin.sock"
[[pool]]
name = "embedded"
provider = "memfd"
capacity = "256MiB"
[[tenant]]
id = 1
name = "alpha"
[[tenant]]
id = 2
name = "beta"
[[grant]]
uid = $user_a
tenants = [1]
roles = ["engine"]
[[grant]]
uid = $user_b
tenants = [2]
roles = ["engine"]
[[grant]]
uid = $UID
roles = ["adjudicator", "inspector", "admin"]
END
} >"$dir/cxlpoold.toml"

cxlpoold --config "$dir/cxlpoold.toml" 2>"$dir/log" &
daemon=$!
export STORY_ENGINE_SOCKET=$dir/engine.sock STORY_ADMIN_SOCKET=$dir/admin.sock
export STORY_DIR=$dir/scratch
for ((tries = 0; tries < 300; tries++)); do
    CXLPOOL_ADMIN_SOCKET=$STORY_ADMIN_SOCKET cxlpoolctl status >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
done
if ! sh "$story"; then
    cat "$dir/log"
    exit 1
fi
kill -TERM "$daemon"
wait "$daemon"
status=$?
daemon=
grep -q "reactor $reactor" "$dir/log" || { echo "it did not run on $reactor"; exit 1; }
grep -q 'event=cross_tenant .*verdict=untrusted told=miss/absent' "$dir/log" ||
    { echo "the audit log does not tell the refusal"; exit 1; }
exit "$status"
