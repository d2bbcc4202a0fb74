# shellcheck shell=bash
# The guest's kernel: Debian's package, unpacked into BUILDDIR/guest/kernel and never installed.
# Sourced by tests/guest/run. Sets KERNEL_IMAGE, KERNEL_VERSION and KERNEL_ROOT.

# Debian's 6.1 is the kernel whose CXL and dax behaviour the project is tested against.
KERNEL_META_PACKAGE=linux-image-amd64
KERNEL_PACKAGE_PATTERN='linux-image-6\.1\.0-[0-9]+-amd64'

# Prints "PACKAGE VERSION" of the newest kernel that the metapackage asks for.
kernel_resolve() {
    LC_ALL=C apt-cache show --no-all-versions "$KERNEL_META_PACKAGE" 2>/dev/null |
        sed -nE "s/^Depends:.*($KERNEL_PACKAGE_PATTERN) \(= ([^)]+)\).*/\1 \2/p" | head -n 1
}

# Looks into an unpacked package and sets the three results.
kernel_use() {
    local image
    KERNEL_ROOT=$1
    for image in "$KERNEL_ROOT"/boot/vmlinuz-*; do
        [[ -f $image ]] || return 1
        # shellcheck disable=SC2034  # read by tests/guest/run
        KERNEL_IMAGE=$image
        KERNEL_VERSION=${image##*/vmlinuz-}
        [[ -f $KERNEL_ROOT/lib/modules/$KERNEL_VERSION/modules.dep ]] && return 0
    done
    return 1
}

kernel_obtain() {
    local cache=$GUEST_DIR/kernel resolved wanted have='' stage package version apt_options
    resolved=$(kernel_resolve) || true
    wanted=${resolved:-unknown}
    [[ -f $cache/package ]] && have=$(<"$cache/package")

    # The cache is renamed into place as a whole, so what is there is complete.
    if [[ -n $have ]] && { [[ $have == "$wanted" ]] || [[ $wanted == unknown ]]; }; then
        kernel_use "$cache" && return 0
    fi
    if [[ $wanted == unknown ]]; then
        fail_setup "apt knows no $KERNEL_META_PACKAGE package matching 6.1.0-*-amd64." \
            "Run 'apt-get update' as root on Debian 12, then try again."
    fi

    read -r package version <<<"$resolved"
    stage=$WORK_DIR/kernel
    mkdir -p "$stage/download"
    note "downloading $package $version (about 70 MB, once)"
    # No package caches are written, and the download does not drop to the _apt user, which could
    # not write below BUILDDIR.
    apt_options=(-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
        -o Acquire::Retries=3)
    if ! run_child "$stage/download" apt-get "${apt_options[@]}" -qq download "$package=$version"; then
        if [[ -n $have ]] && kernel_use "$cache"; then
            note "the download failed: using the kernel fetched earlier ($have)"
            return 0
        fi
        fail_setup "cannot download $package $version." \
            "Check the network; if the version is gone from the mirror, run 'apt-get update' as root."
    fi
    note "unpacking $package"
    run_child "$stage" dpkg -x "$stage"/download/*.deb "$stage/root" ||
        fail_setup "cannot unpack $package into $stage/root." "Is the disk full?"
    for version in "$stage"/root/lib/modules/*; do
        run_child "$stage" depmod -b "$stage/root" "${version##*/}" ||
            fail_setup "depmod failed for ${version##*/}." "Is the kmod package complete?"
    done
    printf '%s\n' "$wanted" >"$stage/root/package"
    if [[ -e $cache ]]; then
        mv "$cache" "$WORK_DIR/kernel.old"
    fi
    mv "$stage/root" "$cache"
    rm -rf "$stage" "$WORK_DIR/kernel.old"
    kernel_use "$cache" || fail_setup "$package holds no boot/vmlinuz-* with its modules." \
        "Remove $cache and try again."
}
