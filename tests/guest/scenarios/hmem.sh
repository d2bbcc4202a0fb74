#: summary memory that firmware reserved for a special purpose (hmem) as dax: the two-tenant story
#: machine hmem
#: timeout 900
#: modules device_dax dax_hmem

# shellcheck shell=dash
# shellcheck source=../lib.sh
. /lib.sh
mkdir -p "$OUT/captured"

check device "/dev/dax0.0 appears for the soft-reserved range" wait_for 30 test -c /dev/dax0.0 || exit 1

daxctl list -RD >"$OUT/captured/guest-hmem.daxctl-list.json"

check daxctl_list "daxctl list shows dax0.0: 1 GiB, devdax, node 1, in an hmem region" \
    json "$OUT/captured/guest-hmem.daxctl-list.json" \
    'any(.[]; (.path | test("hmem")) and any(.devices[];
         .chardev == "dax0.0" and .mode == "devdax" and .size == 1073741824 and .target_node == 1))'

check topology "cxlpoolctl topology --json reads the live machine" \
    save_output "$OUT/topology.json" cxlpoolctl topology --json
check topology_pool "one pool of 1 GiB on dax0.0, and a finding that no CXL device is known" \
    json "$OUT/topology.json" '(.memdevs == []) and (.regions == []) and (.pools | length == 1)
        and (.pools[0] | .name == "dax0.0" and .capacity_bytes == 1073741824
            and .align_bytes == 2097152 and .memory_node == 1)
        and any(.findings[]; .code == "no_cxl_memdev" and .subject == "dax0.0")'
check profile "cxlpoolctl profile --json" save_output "$OUT/profile.json" cxlpoolctl profile --json
check profile_pool "the pool's profile: one host, no coherence across hosts, nothing is made up" \
    json "$OUT/profile.json" 'any(.profiles[]; .name == "dax0.0"
        and .capacity_bytes.value == 1073741824 and .capacity_bytes.source == "observed"
        and .persistent.value == null and .read_latency_ns.value == null
        and .hosts.value == 1 and .cross_host_coherence.value == "none"
        and .fabric_shareable == false)'

# Only what concerns the device: the host has run the rest. It overwrites a few of its bytes.
check memory_contract "what every segment provider promises, asked of /dev/dax0.0" \
    memory_contract_test --device /dev/dax0.0 '--gtest_filter=*/devdax'

check_refusal 'device = "/dev/dax0.0"'
check_story 8388608 'device = "/dev/dax0.0"'
