#: summary a persistent CXL region made devdax: topology, profile, the two-tenant story, the refusal
#: machine cxl-x1
#: timeout 900
#: modules cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_pmem device_dax

# shellcheck shell=dash
# shellcheck source=../lib.sh
. /lib.sh
mkdir -p "$OUT/captured"

check region "cxl create-region and a devdax namespace over memdev serial 4660" \
    create_pmem_region 4660 || exit 1

cxl list -vvv >"$OUT/captured/guest-pmem.cxl-list.json"
daxctl list -RD >"$OUT/captured/guest-pmem.daxctl-list.json"
ndctl list -RN >"$OUT/ndctl-list.json"
if recording; then
    copy_sysfs /sys/bus/cxl /sys/bus/dax /sys/bus/nd /sys/devices/platform/ACPI0017:00 \
        /sys/devices/pci0000:0c /sys/devices/system/node
fi

check cxl_list "cxl list shows serial 4660 and the committed region of 512 MiB" \
    json "$OUT/captured/guest-pmem.cxl-list.json" \
    '([.. | objects | select(.serial? == 4660 and .pmem_size? == 536870912)] | length >= 1)
     and ([.. | objects | select(.region? == "region0" and .decode_state? == "commit"
                                 and .size == 536870912)] | length >= 1)'
check daxctl_list "daxctl list shows dax0.0 in mode devdax, aligned to 2 MiB" \
    json "$OUT/captured/guest-pmem.daxctl-list.json" \
    'any(.[].devices[]; .chardev == "dax0.0" and .mode == "devdax" and .align == 2097152)'
check ndctl_list "ndctl list shows the devdax namespace" \
    json "$OUT/ndctl-list.json" '[.. | objects | select(.mode? == "devdax")] | length == 1'

# --- what the project's programs make of it ---

check topology "cxlpoolctl topology --json reads the live machine" \
    save_output "$OUT/topology.json" cxlpoolctl topology --json
check topology_memdev "serial 4660 exactly, 512 MiB persistent, enabled" \
    json "$OUT/topology.json" '.source == "live" and (.memdevs | length == 1) and (.memdevs[0] |
        .serial == 4660 and .pmem_bytes == 536870912 and .ram_bytes == 0 and .enabled == true)'
check topology_region "region0: pmem, committed, one way over that memdev" \
    json "$OUT/topology.json" '. as $t | (.regions | length == 1) and (.regions[0] |
        .name == "region0" and .type == "pmem" and .state == "committed"
        and .capacity_bytes == 536870912 and .interleave_ways == 1 and .host_bridges == 1
        and .memdevs == [$t.memdevs[0].name] and .cross_host_coherence == "none")'
check topology_dax "dax0.0: mode devdax, aligned to 2 MiB, on region0, target node 1" \
    json "$OUT/topology.json" '(.dax_devices | length == 1) and (.dax_devices[0] |
        .name == "dax0.0" and .mode == "devdax" and .align_bytes == 2097152
        and .region == "region0" and .target_node == 1)'
check topology_pool "one pool, of the size of the dax device, on tier cxl" \
    json "$OUT/topology.json" '. as $t | (.pools | length == 1) and (.pools[0] |
        .capacity_bytes == $t.dax_devices[0].capacity_bytes and .tier == "cxl")'
cxlpoolctl topology --json --from "$OUT"/captured/guest-pmem.*-list.json >"$OUT/topology-captured.json"
check topology_captured "what the tools print gives the same regions, devices and pools" \
    same_pools "$OUT/topology.json" "$OUT/topology-captured.json"

check profile "cxlpoolctl profile --json" save_output "$OUT/profile.json" cxlpoolctl profile --json
check profile_pool "the pool's profile: observed capacity, kind and node; nothing is made up" \
    json "$OUT/profile.json" 'any(.profiles[]; .name == "dax0.0" and .tier == "cxl"
        and .capacity_bytes.source == "observed" and .persistent.value == true
        and .share_kind.value == "cxl_hdm" and .memory_node.value == 1
        and .read_latency_ns.value == null and .read_mbps.value == null
        and .hosts.value == 1 and .hosts.source == "unknown"
        and .cross_host_coherence.value == "none" and .fabric_shareable == false)'

# --- the daemon, which finds the pool by the serial of its device ---

check_refusal "serial = 4660"
write_config /run/absent.toml "serial = 99" "allow_cooperative = true"
check_status 1 absent "a serial that no device has is refused" try_daemon /run/absent.toml
check absent_text "and the refusal names what there is" says "$OUT/absent.txt" "99" "4660"
check_story 2097152 "serial = 4660"
