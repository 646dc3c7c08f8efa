#!/bin/sh
# What a guest does with what OVN's DHCP says: address, default route, static routes (option 121: the way to the metadata).
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
: "${ip=}" "${mask=}" "${interface=}" "${router=}" "${staticroutes=}" "${mtu=}"
ip address replace "$ip/$mask" dev "$interface"
[ -z "$mtu" ] || ip link set "$interface" mtu "$mtu"
for gateway in $router; do ip route replace default via "$gateway" dev "$interface"; done
# shellcheck disable=SC2086 # pairs of words
set -- $staticroutes
while [ $# -ge 2 ]; do
    if [ "$2" = 0.0.0.0 ]; then ip route replace "$1" dev "$interface"; else ip route replace "$1" via "$2" dev "$interface"; fi
    shift 2
done
