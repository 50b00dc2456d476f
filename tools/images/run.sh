#!/usr/bin/env bash
# Runs a command in a root file system, within new mount and process namespaces: run.sh OVERLAY ROOT SETTINGS COMMAND
# OVERLAY has the options of the overlay mount, SETTINGS is the directory of tools/images/host.py. Nothing that is mounted
# below becomes part of the image.
set -euo pipefail
overlay=$1 root=$2 settings=$3 command=$4

mount -t overlay -o "$overlay" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=0755,size=4m tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
for directory in dev/shm tmp var/tmp; do
    mount -t tmpfs -o mode=1777 tmpfs "$root/$directory"
done
# Package sources, proxies, certificate authorities and name servers of this machine.
mount --bind -o ro "$settings" "$root/mnt"
for file in /etc/resolv.conf /etc/hosts; do
    mount --bind "$(realpath $file)" "$root$file"
done
# Also replace the root of the mount namespace: commands that enter it must not see the files of this machine.
cd "$root"
mount --move . /
exec chroot . sh -ec "$command"
