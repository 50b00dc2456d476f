#!/usr/bin/env bash
# The first process in the namespaces of a node: enter.sh DIRECTORY NAME ADDRESS
# It sets up mounts and the network, creates DIRECTORY/ready, and then only waits for orphaned processes.
set -euo pipefail
directory=$1 name=$2 address=$3

mount --make-rshared /
for place in /run /var/lib /var/log; do
    mount -t tmpfs -o mode=0755 tmpfs $place
done
mkdir -p /run/lock /var/lib/kubelet

# kubelet would set these for the whole machine: bind mounts show it the values that it expects, and receive its writes.
protect() { # FILE VALUE
    echo "$2" >"$directory/${1##*/}"
    mount --bind "$directory/${1##*/}" "$1"
}
protect /proc/sys/vm/overcommit_memory 1
protect /proc/sys/kernel/panic 10
protect /proc/sys/kernel/panic_on_oops 1

hostname "$name"
ip link set lo up
ip link add node0 type veth peer name node1
ip address add "$address/24" dev node0
ip link set node0 up
ip link set node1 up
ip route add default via "${address%.*}.254" dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward

touch "$directory/ready"
while :; do
    sleep 3600 &
    wait $! || true
done
