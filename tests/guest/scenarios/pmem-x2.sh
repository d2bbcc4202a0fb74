#: summary a persistent region interleaved over two CXL devices behind two host bridges
#: machine cxl-x2
#: timeout 900
#: modules cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_pmem device_dax

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
