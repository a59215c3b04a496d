# What the guest does: the same work on the same disk, of files on each of the systems. Arguments: attributes of the disk,
# the systems, the layer and its settings. What is reported is called by the system, the work and what was measured.
. /serving.sh
modprobe nbd nbds_max=1
modprobe ublk_drv
modprobe dm_zoned
modprobe xfs
modprobe btrfs
for folder in dev proc sys; do mount --bind /$folder /xfs/$folder; done
make_disk null "$1"
systems=$2 layer=$3
shift 3
settings=
for setting in "$@"; do settings="$settings --set $setting"; done

ext4_on() { mkfs.ext4 -q -F "$1" && mount "$1" /mnt || finish "failed: ext4 on $1"; }
format() { imbrex format "/dev/$disk" --layer "$layer" $settings --force > /dev/null || finish "failed: imbrex format"; }

# Makes a file system on a new $system, and mounts it.
make() {
    case $system in
        kernel)
            dmzadm --format "/dev/$disk" --force > /dev/null && dmzadm --start "/dev/$disk" > /dev/null || finish "failed: dmzadm"
            ext4_on /dev/dm-0
            ;;
        ublk) format && serve_ublk --sector 4096 && ext4_on /dev/ublkb0 ;;
        nbd) format && serve && ext4_on /dev/nbd0 ;;
        xfs)
            chroot /xfs /usr/sbin/mkfs.xfs -q -f "/dev/$disk" > /tmp/made 2>&1 && mount -t xfs "/dev/$disk" /mnt ||
                { cat /tmp/made; finish "failed: xfs"; }
            ;;
        btrfs)
            mkfs.btrfs -q -f -O zoned -d single -m single "/dev/$disk" > /tmp/made 2>&1 && mount -t btrfs "/dev/$disk" /mnt ||
                { cat /tmp/made; finish "failed: btrfs"; }
            ;;
    esac
}

# Takes it away again.
take_away() {
    umount /mnt || finish "failed: umount"
    case $system in
        kernel) dmsetup remove_all ;;
        ublk) leave_ublk TERM ;;
        nbd) leave TERM ;;
    esac
}

# Waits until nothing is left to clean. dm-zoned looks for idle time after ten seconds without requests, and once more
# when it is resumed; the layer of that name waits as long.
idle() {
    if [ "$system" = kernel ]; then
        name=$(dmsetup ls | cut -f 1)
        dmsetup suspend "$name" && dmsetup resume "$name" || finish "failed: dmsetup"
    fi
    sleep 13
    settle
}

now() { awk '{ print int($1 * 1000) }' /proc/uptime; }

begin() {
    sync
    bytes=$(media) begun=$(now)
}

# Bytes that the disk was written.
media() { awk '{ print $7 * 512 }' "/sys/block/$disk/stat"; }

# What the disk was written since the work began, in so many bytes: WORK WHAT BYTES.
report() { awk -v name="$system $1 $2" -v media=$(($(media) - bytes)) -v of="$3" 'BEGIN { printf "%s %.2f\n", name, media / of }'; }

milliseconds() { echo "$system $1 milliseconds $(($(now) - begun))"; }

# Random writes over a file of so many MiB, of so many MiB or for at most so many seconds: WORK FILE SIZE WRITTEN SECONDS.
# Says how much it was, and how long the longest write took.
random_writes() {
    fio --eta=never --filename="/mnt/$2" --size="$3"m --io_size="$4"m --runtime="$5" --output=/tmp/fio --output-format=json /writes.fio 2> /tmp/refused || {
        grep -q 'No space left' /tmp/fio /tmp/refused || { cat /tmp/refused; finish "failed: fio on $system"; }
        echo "$system $1 longest full"
        return 1
    }
    sync
    of_writes() { sed -n '/"write" : {/,/"trim" : {/p' /tmp/fio | sed -n "/$1/,/}/s/.*\"$2\" : \([0-9]*\).*/\1/p" | head -n 1; }
    wrote=$(of_writes '"write"' io_bytes)
    echo "$system $1 wrote $((wrote >> 20))"
    echo "$system $1 milliseconds $(of_writes '"write"' runtime)"
    echo "$system $1 longest $(($(of_writes '"clat_ns"' max) / 1000000))"
}

# The file is larger than the conventional zones.
work_random() {
    dd if=/dev/zero of=/mnt/file bs=1M count=512 2> /dev/null
    begin
    random_writes random file 512 4 300
    report random before "$wrote"
    idle
    report random after "$wrote"
    rm /mnt/file
}

TRANSACTIONS=300
work_database() {
    sqlite3 /mnt/rows.db "create table r(id integer primary key, key int, text); create index by_key on r(key);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        insert into r select i, i * 7919 % 20011, hex(randomblob(100)) from n;" || finish "failed: sqlite3 on $system"
    awk -v n=$TRANSACTIONS 'BEGIN { for (i = 1; i <= n; i++) {
        printf "begin; update r set text = hex(randomblob(100)) where id = %d; ", i * 6151 % 20000 + 1
        printf "insert into r values(%d, %d, hex(randomblob(100))); commit;\n", 20000 + i, i * 7907 % 20011 } }' > /tmp/transactions
    begin
    sqlite3 /mnt/rows.db < /tmp/transactions || finish "failed: sqlite3 on $system"
    sync
    milliseconds database
    report database kilobytes $((TRANSACTIONS * 1000))
    [ "$(sqlite3 /mnt/rows.db 'pragma integrity_check; select count(*) from r')" = "ok
$((20000 + TRANSACTIONS))" ] || finish "failed: the database on $system is not what was written"
    rm /mnt/rows.db
}

unpack() { mkdir "/mnt/$1" && tar -C "/mnt/$1" -xf /tmp/archive.tar && sync || finish "failed: tar on $system"; }
work_files() {
    begin
    unpack 1
    unpack 2
    for tree in 3 4; do
        rm -r "/mnt/$((tree - 2))"
        unpack $tree
    done
    milliseconds files
    report files before $((4 * archived))
    for file in /tmp/tree/*; do cmp -s "$file" "/mnt/4/${file##*/}" || finish "failed: a file on $system is not what was unpacked"; done
    rm -r /mnt/3 /mnt/4
    sync
}

# Of what the file system says that there is, 95 % are a file. What is written is more than what any of them has spare.
work_full() {
    offered=$(df -m /mnt | awk 'END { print $4 }')
    echo "$system full offered $offered"
    dd if=/dev/zero of=/mnt/large bs=1M count=$((offered * 95 / 100)) 2> /dev/null && sync ||
        { echo "$system full longest full"; return; }
    begin
    random_writes full large $((offered * 95 / 100)) 512 300 || return
    report full before "$wrote"
}

mkdir /tmp/tree
dd if=/dev/urandom bs=1M count=24 2> /dev/null | (cd /tmp/tree && split -a 3 -b 12k)
tar -C /tmp/tree -cf /tmp/archive.tar .
archived=$(cat /tmp/tree/* | wc -c)
for system in $systems; do
    make
    for work in random database files full; do work_$work; done
    take_away
done
finish done
