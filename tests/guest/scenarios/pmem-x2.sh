#: summary a persistent region interleaved over two CXL devices behind two host bridges
#: machine cxl-x2
#: timeout 900
#: modules cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_pmem device_dax

# shellcheck shell=dash
# shellcheck source=../lib.sh
. /lib.sh
mkdir -p "$OUT/captured"

check region "a two-way region over serials 4660 and 22136, made devdax" \
    create_pmem_region 4660 22136 || exit 1

cxl list -vvv >"$OUT/captured/guest-pmem-x2.cxl-list.json"
daxctl list -RD >"$OUT/captured/guest-pmem-x2.daxctl-list.json"

check cxl_list "cxl list shows one region of two ways, counted once" \
    json "$OUT/captured/guest-pmem-x2.cxl-list.json" \
    '[.. | objects | select(.region? == "region0" and has("interleave_ways"))]
     | unique_by(.resource) | length == 1 and .[0].interleave_ways == 2 and .[0].size == 1073741824'
check daxctl_list "daxctl list shows dax0.0 over both devices" \
    json "$OUT/captured/guest-pmem-x2.daxctl-list.json" \
    'any(.[].devices[]; .chardev == "dax0.0" and .mode == "devdax" and .size > 1000000000)'

check topology "cxlpoolctl topology --json reads the live machine" \
    save_output "$OUT/topology.json" cxlpoolctl topology --json
check topology_region "one region: two ways over two host bridges, memdevs in interleave order" \
    json "$OUT/topology.json" '. as $t | (.memdevs | map(.serial) == [4660, 22136])
        and (.regions | length == 1) and (.regions[0] | .interleave_ways == 2
            and .host_bridges == 2 and .interleave_granularity_bytes == 256
            and .capacity_bytes == 1073741824 and .memdevs == [$t.memdevs[].name])'
check topology_pool "one pool, counted once, of the size of the dax device" \
    json "$OUT/topology.json" '. as $t | (.pools | length == 1)
        and (.pools[0] | .capacity_bytes == $t.dax_devices[0].capacity_bytes
            and .serials == [4660, 22136])'
cxlpoolctl topology --json --from "$OUT"/captured/guest-pmem-x2.*-list.json \
    >"$OUT/topology-captured.json"
check topology_captured "what the tools print gives the same regions, devices and pools" \
    same_pools "$OUT/topology.json" "$OUT/topology-captured.json"

# --- the daemon, which finds the pool by the name of its region ---

check_story 1048576 'region = "region0"'
