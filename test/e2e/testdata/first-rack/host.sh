#!/usr/bin/env bash
# Becomes the host of docs/first-rack.md, in namespaces that the caller has made: the file system of this
# machine, on which all changes stay in memory, and systemd as its first process.
#
# host.sh FOLDER KERNEL PATH…: an empty folder; one with boot/ and lib/modules/ of the host's kernel; and what
# the host has to have, wherever it is mounted.
set -euo pipefail

folder=$1 kernel=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
cd "$folder"

# A copy of a directory whose changes stay in memory.
layers=0
layer() {
	layers=$((layers + 1))
	mkdir -p "upper$layers" "work$layers" "$folder/root$1"
	mount -t overlay -o "lowerdir=$1,upperdir=$folder/upper$layers,workdir=$folder/work$layers" overlay "$folder/root$1"
}

layer /
for path in "${@:3}"; do # an overlay has no file system that is mounted below
	[ "$(stat -c %d /)" = "$(stat -c %d "$path")" ] || layer "$path"
done
cd root

mkdir -p boot lib/modules root usr/local/sbin
rm -rf boot/* etc/farrier etc/systemd/system/* etc/systemd/network/* usr/local/bin/farrier* usr/local/bin/metalprobe var/lib/farrier
cp -a "$kernel"/boot/vmlinuz-* boot/
cp -a "$kernel"/lib/modules/. lib/modules/
echo -n > etc/machine-id
mkdir -p etc/tmpfiles.d
ln -sf /dev/null etc/tmpfiles.d/tmp.conf # systemd empties /tmp at its start, where this repository may be
install -m 0755 "$here/apt-get" "$here/git" usr/local/sbin/

mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs -o mode=0755 tmpfs dev
mkdir dev/pts dev/shm old
for node in null zero full random urandom tty; do
	touch "dev/$node"
	mount --bind "/dev/$node" "dev/$node"
done
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx # for units with PrivateDevices

pivot_root . old
umount -l /old
export container=test
exec /lib/systemd/systemd --unit=multi-user.target --log-target=journal --show-status=no
