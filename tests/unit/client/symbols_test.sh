#!/bin/sh
# symbols_test.sh LIBRARY HEADER: the library exports what the header declares, and nothing else.
set -eu
library=$1
header=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* [A-Z] \(cxlpool_[a-z_]*\)@@CXLPOOL_0\.1$/\1/p' |
    sort >"$scratch/exported"
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@@.*//' | sort \
    >"$scratch/everything"
sed -n 's/^CXLPOOL_API .*[ *]\(cxlpool_[a-z_]*\)(.*/\1/p' "$header" | sort >"$scratch/declared"

[ -s "$scratch/declared" ] || { echo "no declaration found in $header"; exit 1; }
diff -u "$scratch/declared" "$scratch/exported"
diff -u "$scratch/declared" "$scratch/everything"
echo "$(wc -l <"$scratch/declared") symbols, all of them of version CXLPOOL_0.1"
