# Holds the layer dm-zoned against the kernel's own: the same writes go to a guest's dm-zoned on a host-managed disk and
# through `imbrex replay` on a drive of the same geometry, and the blocks written to the disk below are compared, with
# what busy reclaim wrote and again when everything has been reclaimed. They may differ by 10 %. Then the layer is
# replayed with a wrong threshold, and the check fails unless that is found to differ.
#
# Sourced by ../guests.sh. REPLAYED is what goes to `imbrex replay` besides.
programs+=(dmsetup:dmsetup) modules+=(null_blk dm_zoned)
here=$PWD/dm-zoned

WRITES=100 CHUNKS=16 ZONE_BLOCKS=4096 SEED=${SEED:-1} REPLAYED=${REPLAYED:-}
PERCENT=10
PERTURBED=dm-zoned.reclaim_low=50

pattern() {
    awk -v writes="$WRITES" -v chunks="$CHUNKS" -v blocks="$ZONE_BLOCKS" -v seed="$SEED" -v gap=5 -v last="$1" -f "$here/pattern.awk"
}

# The program of the folder PROGRAMS, if that is named.
imbrex() {
    if [ -n "${PROGRAMS:-}" ]; then
        "$PROGRAMS/imbrex" "$@"
    else
        cargo run --quiet --locked --package imbrex-cli -- "$@"
    fi
}

# Blocks that the layer writes to the disk when the last read comes so many seconds after the last write. What follows
# are further arguments.
replayed() {
    pattern "$1" > "$work/trace"
    imbrex replay "$work/trace" --layer dm-zoned --drive "$here/drive.toml" --prefill 0 --verify --format json "${@:2}" > "$work/outcome"
    awk '/"media_write_blocks"/ { inside = 1; next }
         inside && /}/ { inside = 0 }
         inside { sub(/,/, ""); sum += $2 }
         END { print sum }' "$work/outcome"
}

# Says how far apart two counts are, and whether that is near enough.
compare() {
    local what=$1 kernel=$2 ours=$3 off
    off=$(awk -v a="$kernel" -v b="$ours" 'BEGIN { printf "%.1f", (b - a) * 100 / a }')
    echo "blocks written, $what: kernel $kernel, imbrex $ours ($off %)"
    awk -v off="$off" -v most="$PERCENT" 'BEGIN { exit !(off <= most && off >= -most) }'
}

put_dm_zoned() {
    copy_program "$(program dmsetup)"
    copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
    pattern 5 > "$guest/pattern"
}

judge_dm_zoned() {
    local busy all perturbed agree=yes
    echo "dm-zoned check: $WRITES writes of 4 KiB over $CHUNKS chunks, Linux $version"
    busy=$(replayed 5 $REPLAYED) all=$(replayed 1000 $REPLAYED) perturbed=$(replayed 5 --set "$PERTURBED")
    compare "before the disk is idle" "$(said before)" "$busy" || agree=no
    compare "when all is reclaimed" "$(said after)" "$all" || agree=no
    [ $agree = yes ] || fail "the layer and the kernel differ by more than $PERCENT %"
    ! compare "with $PERTURBED, which must differ" "$(said before)" "$perturbed" ||
        fail "it does not notice $PERTURBED, and so proves nothing"
}
