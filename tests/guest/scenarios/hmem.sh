#: summary memory that firmware reserved for a special purpose (hmem) as dax: the two-tenant story
#: machine hmem
#: timeout 900
#: modules device_dax dax_hmem

. /lib.sh
mkdir -p "$OUT/captured"

check device "/dev/dax0.0 appears for the soft-reserved range" wait_for 30 test -c /dev/dax0.0 || exit 1

daxctl list -RD >"$OUT/captured/guest-hmem.daxctl-list.json"

check daxctl_list "daxctl list shows dax0.0: 1 GiB, devdax, node 1, in an hmem region" \
    json "$OUT/captured/guest-hmem.daxctl-list.json" \
    'any(.[]; (.path | test("hmem")) and any(.devices[];
         .chardev == "dax0.0" and .mode == "devdax" and .size == 1073741824 and .target_node == 1))'
