# shellcheck shell=bash
# The guest's root: busybox, the modules that the scenarios name, the CXL programs, our programs and
# their libraries, and the scenarios. Sourced by tests/guest/run.

# Programs of the system that every guest has, and the package of each.
GUEST_PROGRAMS=(cxl ndctl daxctl bash jq)

# Copies one program to /usr/bin of the guest, with every library that the loader asks for.
initramfs_program() {
    local root=$1 source=$2 line path
    install -m 755 "$source" "$root/usr/bin/"
    strip --strip-debug "$root/usr/bin/${source##*/}" 2>/dev/null || true
    while read -r line; do
        case $line in
        *'=> not found'*)
            fail_setup "$source needs ${line%% *}, which is not installed." \
                "Build it again, or install the missing library."
            ;;
        *'=> /'*) path=${line#*=> } ;;
        /*) path=$line ;;
        *) continue ;;
        esac
        path=${path%% (*}
        case $path in
        */ld-linux*) [[ -e $root$path ]] || install -D -m 755 "$path" "$root$path" ;;
        *)
            [[ -e $root/lib/${path##*/} ]] && continue
            install -D -m 755 "$path" "$root/lib/${path##*/}"
            strip --strip-debug "$root/lib/${path##*/}" 2>/dev/null || true
            ;;
        esac
    done < <(ldd "$source" 2>/dev/null)
}

# Copies the named modules and those they depend on, which modules.dep lists in full. (modprobe
# --show-depends would leave out what happens to be built into the kernel running here.)
initramfs_modules() {
    local root=$1 tree=$KERNEL_ROOT/lib/modules/$KERNEL_VERSION name path listed
    shift
    mkdir -p "$root/lib/modules/$KERNEL_VERSION"
    for name in "$@"; do
        listed=$(awk -F '[: ]+' -v wanted="$name" '
            { module = $1; sub(/.*\//, "", module); sub(/\.ko.*/, "", module); gsub(/-/, "_", module) }
            module == wanted { for (i = 1; i <= NF; i++) if ($i != "") print $i }' "$tree/modules.dep")
        if [[ -z $listed ]]; then
            fail_setup "kernel $KERNEL_VERSION has no module '$name'." \
                "Correct the '#: modules' line of the scenario that names it."
        fi
        while read -r path; do
            [[ -e $root/lib/modules/$KERNEL_VERSION/$path ]] ||
                install -D -m 644 "$tree/$path" "$root/lib/modules/$KERNEL_VERSION/$path"
        done <<<"$listed"
    done
    cp "$tree"/modules.{order,builtin,builtin.modinfo} "$root/lib/modules/$KERNEL_VERSION/"
    depmod -b "$root" "$KERNEL_VERSION"
}

# find_program NAME: where a program of this project is, in --install first, then in BUILDDIR.
find_program() {
    local name=$1 directory places=()
    if [[ -n $INSTALL_DIR ]]; then
        places+=("$INSTALL_DIR"/{bin,sbin,usr/bin,usr/sbin})
    fi
    for directory in src/daemon tools/cxlpoolctl tools examples tests/contract tests/support; do
        places+=("$BUILD_DIR/$directory")
    done
    for directory in "${places[@]}"; do
        if [[ -f $directory/$name && -x $directory/$name ]]; then
            printf '%s\n' "$directory/$name"
            return 0
        fi
    done
    return 1
}

initramfs_build() {
    local root=$WORK_DIR/root name path
    mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,lib,etc,dev,proc,sys,run,tmp,out}
    install -m 755 "$(command -v busybox)" "$root/bin/busybox"
    for name in "${GUEST_PROGRAMS[@]}"; do
        initramfs_program "$root" "$(command -v "$name")"
    done
    for name in "${PROJECT_PROGRAMS[@]}"; do
        path=$(find_program "$name") ||
            fail_setup "$name is neither in $BUILD_DIR nor given with --install." \
                "Build it first: ninja -C $BUILD_DIR"
        initramfs_program "$root" "$path"
    done
    if ! path=$(find_program as_uid); then
        path=$WORK_DIR/as_uid
        "${CC_COMMAND[@]}" -O2 -static -o "$path" "$SOURCE_DIR/tests/support/as_uid.c" ||
            fail_setup "cannot compile tests/support/as_uid.c." "Install gcc and libc6-dev."
    fi
    initramfs_program "$root" "$path"

    # shellcheck disable=SC2046  # each word is one module
    initramfs_modules "$root" $(scenario_modules)

    install -m 755 "$SOURCE_DIR/tests/guest/init" "$root/init"
    install -m 644 "$SOURCE_DIR/tests/guest/lib.sh" "$root/lib.sh"
    cp -R "$SOURCE_DIR/tests/guest/scenarios" "$root/scenarios"
    if [[ -d $SOURCE_DIR/tests/story ]]; then
        cp -R "$SOURCE_DIR/tests/story" "$root/story"
    fi
    printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\n' >"$root/etc/group"

    # Not compressed: unpacking costs emulated instructions, reading does not.
    (cd "$root" && find . -print0 | cpio --quiet -0 -o -H newc -R 0:0) >"$WORK_DIR/initramfs" ||
        fail_setup "cannot write $WORK_DIR/initramfs." "Is the disk full?"
}
