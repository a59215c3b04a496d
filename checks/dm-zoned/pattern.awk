# Writes of 4 KiB at random over the first chunks of a disk, `gap` seconds apart, and a read of a chunk never written `last`
# seconds after them, as an iolog of fio. The generator's numbers stay below 2^53, so every awk gives the same ones.
BEGIN {
    print "fio version 3 iolog"
    print "0 dm-zoned add"
    print "0 dm-zoned open"
    for (i = 0; i < writes; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        printf "%.0f dm-zoned write %.0f 4096\n", i * gap * 1000000, int(seed / 2147483648 * chunks * blocks) * 4096
    }
    printf "%.0f dm-zoned read %.0f 4096\n", ((writes - 1) * gap + last) * 1000000, (chunks + 4) * blocks * 4096
}
