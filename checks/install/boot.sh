# Makes the installed Debian the guest's, and gives it over to its systemd.
modprobe virtio_blk
until [ -b /dev/vda ]; do sleep 0.1; done
mount -t ext4 /dev/vda /mnt
umount /dev/shm
for tree in dev proc sys; do mount --move /$tree /mnt/$tree; done
exec switch_root /mnt /sbin/init < /mnt/dev/console > /mnt/dev/console 2>&1
