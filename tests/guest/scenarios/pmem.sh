#: summary a persistent CXL region made devdax: topology, profile, the two-tenant story, the refusal
#: machine cxl-x1
#: timeout 420
#: modules cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_pmem device_dax

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
