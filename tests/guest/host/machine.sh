# shellcheck shell=bash
# The machines that guests run on, as QEMU arguments. Sourced by tests/guest/run.
#
# A scenario names its machine in its '#: machine NAME' line; NAME is one of MACHINES below, and the
# function machine_NAME (with '-' as '_') fills QEMU_MACHINE and KERNEL_ARGUMENTS.
#
# Emulated instructions only, also where KVM exists: QEMU serves loads and stores to a CXL window
# through its device path, which KVM cannot do for every instruction.

MACHINES=(cxl-x1 cxl-x2 hmem)

# Every device names its bus: QEMU would otherwise place it on the CXL host bridge, and stop.
readonly ROOT_BUS=pcie.0

machine_common() {
    # shellcheck disable=SC2054  # the commas are QEMU's
    QEMU_MACHINE=(-nodefaults -no-user-config -display none -no-reboot
        -accel tcg,thread=multi -cpu max,-erms,-fsrm -smp 2)
    # On a busy host the guest's processors stand still for seconds. The kernel would take that for
    # a broken timer and stop, or complain about lockups and stalls that are none.
    KERNEL_ARGUMENTS=(console=ttyS0 panic=-1 oops=panic random.trust_cpu=on mitigations=off
        no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1)
}

# cxl_device NUMBER BUS_NUMBER SERIAL: a host bridge with one persistent 512 MiB device below it.
#
# The second root port stays empty. With a single one, the kernel takes the host bridge for a mere
# passage and leaves its decoder alone, while QEMU 7.2 routes by that decoder: everything looks
# right, but stores to the window are lost and loads give zero.
cxl_device() {
    local n=$1 bus_number=$2 serial=$3
    QEMU_MACHINE+=(
        -object "memory-backend-ram,id=cxl-mem$n,share=on,size=512M"
        -object "memory-backend-ram,id=cxl-lsa$n,share=on,size=1M"
        -device "pxb-cxl,id=cxl.$n,bus=$ROOT_BUS,bus_nr=$bus_number"
        -device "cxl-rp,id=cxl-rp$n,bus=cxl.$n,port=0,chassis=$n,slot=0"
        -device "cxl-rp,id=cxl-empty$n,bus=cxl.$n,port=1,chassis=$n,slot=1"
        -device "cxl-type3,id=cxl-pmem$n,bus=cxl-rp$n,memdev=cxl-mem$n,lsa=cxl-lsa$n,sn=$serial"
    )
}

# One CXL device behind one host bridge.
machine_cxl_x1() {
    machine_common
    QEMU_MACHINE+=(-machine "q35,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G"
        -m "2G,maxmem=8G,slots=4")
    cxl_device 1 12 0x1234
}

# Two devices behind two host bridges, under one window that interleaves over both.
machine_cxl_x2() {
    machine_common
    QEMU_MACHINE+=(
        -machine "q35,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.targets.1=cxl.2,cxl-fmw.0.size=4G"
        -m "2G,maxmem=8G,slots=4")
    cxl_device 1 12 0x1234
    cxl_device 2 222 0x5678
}

# RAM that firmware reserved for a special purpose: the 1 GiB above 4 GiB, a NUMA node of its own
# without CPUs. The kernel argument changes its type from RAM to "Soft Reserved".
machine_hmem() {
    machine_common
    QEMU_MACHINE+=(-machine q35 -m 3G
        -object "memory-backend-ram,id=ram0,size=2G"
        -object "memory-backend-ram,id=ram1,size=1G"
        -numa "node,nodeid=0,cpus=0-1,memdev=ram0"
        -numa "node,nodeid=1,memdev=ram1")
    KERNEL_ARGUMENTS+=('memmap=1G%4G-1+0xefffffff')
}

machine_exists() {
    local machine
    for machine in "${MACHINES[@]}"; do
        [[ $machine == "$1" ]] && return 0
    done
    return 1
}
