# What benchmarks of servers share: volumes as new of every layer, and what is aimed for. To be sourced after server.sh.

ticks=$(getconf CLK_TCK)

# PROCESS: the processor's time that it has taken, in ticks.
ticks_of() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# The drive of a layer, by its family, and how much of it: enough for a buffer that the run does not fill.
drive_of() {
    case $1-$2 in
    *-page-ftl) echo ssd-pore 4GiB ;;
    *-skylight) echo st8000as0002 512GiB ;;
    banded-*) echo exos-x18z 4GiB ;;
    shingled-*) echo exos-x18z 512GiB ;;
    interlaced-*) echo imrsim 16GiB ;;
    hybrid-*) echo zonealloy 64GiB ;;
    *) echo conventional-7200 16GiB ;;
    esac
}

# LAYER FAMILY: a volume as new.
format_new() {
    rm -f "$images/$1".{img,ssd}
    if [ "$2" = ssd ] && [ "$1" != page-ftl ]; then
        "$imbrex" format "$images/$1.ssd" "$images/$1.img" --layer "$1" --drive ssd-pore --drive st8000as0002 \
            --capacity 1GiB --capacity 512GiB > "$work/$1.format"
    else
        # shellcheck disable=SC2046 # two words
        format "$1" "$1" $(drive_of "$2" "$1")
    fi
}

# LAYER FAMILY KIND: the most that the processor's time is to be of the file plugin's.
processor_aim() {
    case $3-$1-$2 in
    sequential-*) echo 1.1 ;;
    *-page-ftl-*) echo 1.15 ;;
    *-fifo-log-* | *-dm-zoned-*) echo 1.0 ;;
    *-tracklace-* | *-ssd) echo 1.4 ;;
    *) echo 1.15 ;;
    esac
}
