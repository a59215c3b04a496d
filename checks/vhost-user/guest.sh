# A file system's life on the disk that the machine below serves.
modprobe virtio_pci && modprobe virtio_blk || finish "failed: the guest has no virtio"
until [ -b /dev/vda ]; do sleep 0.1; done
grep -q '^[0-9a-f]\{16\}$' /sys/block/vda/serial || finish "failed: the disk has no name"
mkfs.ext4 -q -F /dev/vda || finish "failed: mkfs.ext4 on a virtio disk"
mount /dev/vda /mnt || finish "failed: mount of a virtio disk"
fill first 6
rm /mnt/first1
fill second 4
fstrim /mnt || finish "failed: fstrim of a virtio disk"
umount /mnt && mount /dev/vda /mnt || finish "failed: remount of a virtio disk"
verify second
umount /mnt
check_files /dev/vda
echo "virtio disk served by vhost-user: found all files again on $(cat /sys/block/vda/size) sectors"
