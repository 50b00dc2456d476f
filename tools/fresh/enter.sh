#!/usr/bin/env bash
# Runs inside.sh in a root file system, within new mount and process namespaces: enter.sh ROOT CACHE WHO TESTS
set -euo pipefail
root=$1 cache=$2 who=$3 tests=$4

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=0755,size=1m tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root/var/cache/downloads"
mount --bind "$cache/archives" "$root/var/cache/apt/archives"
downloads=$cache/downloads-root
[ "$who" != user ] || downloads=$cache/downloads-user
mount --bind "$downloads" "$root/var/cache/downloads"

inside=(chroot "$root" env -i "PATH=/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 "TESTS=$tests")
case $who in
    root) "${inside[@]}" HOME=/root bash /fresh/inside.sh ;;
    container)
        # The capabilities that Docker gives to root in a container.
        kept=chown,dac_override,fsetid,fowner,mknod,net_raw,setgid,setuid,setfcap,setpcap,net_bind_service,sys_chroot,kill
        kept=+${kept//,/,+}
        setpriv --bounding-set="-all,$kept" --inh-caps=-all "${inside[@]}" HOME=/root bash /fresh/inside.sh
        ;;
    user)
        "${inside[@]}" useradd --create-home --shell /bin/bash dev
        chown -R 1000:1000 "$downloads"
        as_user=("${inside[@]}" HOME=/home/dev setpriv --reuid=1000 --regid=1000 --clear-groups bash /fresh/inside.sh)
        # The first run prints what is missing; root then runs the printed command.
        if "${as_user[@]}" packages >"$root/fresh/printed" 2>&1; then
            cat "$root/fresh/printed" && echo "Nothing was reported as missing on a clean machine." >&2 && exit 1
        fi
        install=$(sed -n 's/^ *sudo \(apt-get install .*\)/\1/p' "$root/fresh/printed" | head -n 1)
        [ -n "$install" ] || { cat "$root/fresh/printed" && echo "No command to install packages was printed." >&2 && exit 1; }
        "${inside[@]}" DEBIAN_FRONTEND=noninteractive sh -ec "apt-get update -qq && $install -qq >/dev/null"
        "${as_user[@]}"
        ;;
    *) echo "$who: must be root, user or container" >&2 && exit 1 ;;
esac
