# Writes for qemu-io, each of blocks of 4 KiB filled with a byte, and a flush after every few. Into `list` goes what was
# written: the byte, the first block and how many; a flush has the byte 0.
BEGIN {
    srand(seed)
    for (command = 1; command <= commands; command++) {
        if (command % 16 == 0) {
            print 0, 0, 0 > list
            print "flush"
            continue
        }
        byte = 1 + (command + seed * 37) % 250
        blocks = 1 + int(rand() ^ 4 * 40)
        first = base + int(rand() * (region - blocks))
        print byte, first, blocks > list
        print "write -P", byte, first * 4096, blocks * 4096
    }
}
