#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that transports stay apart: the connections of one mount with nconnect=4,
# of which one is cut and one is removed under load; two servers, of which one
# restarts; two RDMA devices, of which one is removed; two network namespaces. And
# that a connection follows when the hardware address under it changes.
#
# For a second device the client becomes
#
#	vethA  192.0.2.2/24 ----+
#	rxe0                    +-- br0 -- eth0
#	vethB  198.51.100.2/24 -+
#	rxe1
#
# and for the hardware address
#
#	bond0  192.0.2.2/24 --+-- vethA -+
#	rxe0                  +-- vethB -+-- br0 -- eth0

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

other=/mnt/other
second4=198.51.100

server() {
	ip addr add "$second4.1/24" dev "$(net_device)" || exit
	serve 8
}

client() {
	begin
	many_connections
	two_servers
	namespaces
	if modprobe -a bridge veth; then
		bridge || bail "no second device"
		two_devices
		hardware_address
	else
		skip "two devices" "no kernel modules"
		skip "hardware address" "no kernel modules"
	fi
	end_unloaded
}

many_connections() {
	check "nconnect: mount" mount_rdma 4.2 "$SERVER4" "$dir" nconnect=4
	check "nconnect: data" fill
	check "nconnect: four connections" connections 4
	check "nconnect: all are used" all_used
	during "nconnect: one is cut, and another" sever_some
	check "nconnect: four connections again" within 60 connections 4
	during "nconnect: one is removed" remove_one
	check "nconnect: three connections" within 60 connections 3
	check "nconnect: the same data" same_data
	check "nconnect: unmount" umount "$dir"
	check "nconnect: nothing left" within 30 nothing_left
}

all_used() {
	local i
	for ((i = 0; i < 8; i++)); do
		dd if="$dir/data" of=/dev/null bs=128K iflag=direct status=none || return
	done
	grep -H '^sends:' /sys/kernel/debug/rpcrdma/conn/*
	awk '/^sends:/ && $2 < 20 { bad = 1 } END { exit bad }' \
		/sys/kernel/debug/rpcrdma/conn/*
}

# To write a transport's address, even the same one, ends its connection.
sever() { # TRANSPORT
	within 30 tell "$1/dstaddr" "$SERVER4"
}

sever_some() {
	local all=() before
	mapfile -t all <<< "$(transports)"
	before=$(closed)
	sever "${all[1]}" && sleep 1 && sever "${all[3]}" && sever "${all[0]}" &&
		within 30 closed_since "$before" 3
}

# The kernel does so with any but the first.
remove_one() {
	local one
	one=$(transports | tail -n 1)
	within 30 tell "$one/xprt_state" offline && within 30 unused "$one" &&
		within 30 tell "$one/xprt_state" remove && return
	cat "$one"/xprt_{state,info}
	return 1
}

unused() { # TRANSPORT
	grep -qx 'tasks_queuelen=0' "$1/xprt_info"
}

# The program runs on both mounts while the command does. The server of the other is
# in this guest (here), or in the server's (on_server).
during_both() { # WHAT WHERE COMMAND...
	local pid
	sync_first "${@:3}"
	/usr/bin/python3 -S "$integrity" random "$other/other" "$ran" /tmp/stop \
		> /tmp/other 2>&1 &
	pid=$!
	during "$1" "${@:3}"
	check "$1: the other's data here" ends_well "$pid" /tmp/other
	check "$1: the other's data there" "$2" /usr/bin/python3 -S "$integrity" \
		same /export/other "$(tail -n 1 /tmp/other)"
}

# The second one is here.
two_servers() {
	modprobe nfsd
	check "two servers: a second one" server_up 4 256M
	check "two servers: mount one" mount_rdma 4.2 "$SERVER4" "$dir"
	check "two servers: mount the other" mount_rdma 4.2 "$CLIENT4" "$other"
	# The other's are both here.
	check "two servers: connections" connections 3
	during_both "two servers: one restarts" here on_server restart_nfsd
	during_both "two servers: the other restarts" here restart_nfsd
	check "two servers: unmount" umount "$dir" "$other"
	check "two servers: nothing left" within 30 nothing_left
	check "two servers: stop the second" server_down
}

namespaces() {
	local there
	there=$(on_server lladdr)
	if ! apart_up "$SERVER4" "$there"; then
		skip "namespaces" "no interface for another one"
		return
	fi
	if ! rping_apart; then
		skip "namespaces" "rping cannot connect from there, either"
	else
		check "namespaces: mount" mount_rdma 4.2 "$SERVER4" "$dir"
		check "namespaces: mount in another" mount_apart
		check "namespaces: two connections" connections 2
		check "namespaces: one from there" \
			grep "^connection: $apart4" /sys/kernel/debug/rpcrdma/conn/*
		during_both "namespaces: nfsd restarts" on_server \
			on_server restart_nfsd
		check "namespaces: unmount" umount "$dir" "$other"
		check "namespaces: nothing left" within 30 nothing_left
	fi
	apart_down
}

# As a host of another name: a server takes two clients with one name for one that has restarted.
# When nfsd restarts they can take their leases from each other without end.
mount_apart() {
	local host=/proc/sys/kernel/hostname name status
	name=$(< "$host") && echo apart > "$host" || return
	apart mount -o "vers=4.2,proto=rdma,port=20049" "$SERVER4:/" "$other"
	status=$?
	echo "$name" > "$host"
	return "$status"
}

rping_apart() {
	on_server rping_server && apart timeout 30 rping -c -a "$SERVER4" -C 2
}

rping_server() {
	timeout 60 rping -s -a "$SERVER4" -C 2 > /dev/null 2>&1 &
	sleep 1
}

# From eth0 to a bridge with two pairs of interfaces.
bridge() {
	local device
	device=$(net_device)
	rdma_down rxe
	# Each address only where it is.
	echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
	echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
	ip addr flush dev "$device"
	ip -batch - <<- END
		link add br0 type bridge forward_delay 0
		link add vethA type veth peer name portA
		link add vethB type veth peer name portB
		link set $device master br0
		link set portA master br0
		link set portB master br0
		link set br0 mtu 9000 up
		link set portA mtu 9000 up
		link set portB mtu 9000 up
		link set vethA mtu 9000 up
		link set vethB mtu 9000 up
		addr add $CLIENT4/24 dev vethA
		addr add $second4.2/24 dev vethB
	END
	forget_neighbours &&
		rdma link add rxe0 type rxe netdev vethA &&
		rdma link add rxe1 type rxe netdev vethB
}

forget_neighbours() {
	ip neigh flush all && on_server ip neigh flush all
}

# NFSv3: NFSv4.1 sees that the two addresses are the same server's.
two_devices() {
	check "two devices: mount by one" mount_rdma 3 "$SERVER4" "$dir"
	check "two devices: mount by the other" mount_rdma 3 "$second4.1" "$other"
	check "two devices: two connections" connections 2
	check "two devices: both devices are used" both_used
	during_both "two devices: one is removed, and returns" on_server \
		return_device
	check "two devices: the other carries on alone" alone
	check "two devices: unmount" umount "$dir" "$other"
	check "two devices: nothing left" within 30 nothing_left
}

both_used() {
	rdma resource show qp
	[[ $(rdma resource show qp | grep -o '^link rxe[01]/.* type RC' |
		cut -c 6-9 | sort -u | wc -l) = 2 ]]
}

return_device() {
	rdma link delete rxe1 && sleep 2 && rdma link add rxe1 type rxe netdev vethB
}

# With the second device gone, the mount by the first does not wait for anything.
alone() {
	rdma link delete rxe1 && timeout 30 dd if=/dev/zero of="$dir/alone" bs=64K \
		count=16 oflag=direct &&
		rdma link add rxe1 type rxe netdev vethB &&
		timeout 60 ls "$other"
}

# A bond whose hardware address is that of whichever interface it uses.
hardware_address() {
	if ! modprobe bonding max_bonds=0; then
		skip "hardware address" "no kernel module"
		return
	fi
	rdma link delete rxe0
	rdma link delete rxe1
	ip -batch - <<- END
		addr flush dev vethA
		addr flush dev vethB
		link set vethA down
		link set vethB down
		link add bond0 type bond mode active-backup fail_over_mac active miimon 100
		link set vethA master bond0
		link set vethB master bond0
		link set bond0 mtu 9000 up
		addr add $CLIENT4/24 dev bond0
	END
	forget_neighbours
	within 30 carrier bond0
	rdma link add rxe0 type rxe netdev bond0
	trace rpcrdma/rpcrdma_cm
	check "hardware address: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	during "hardware address: fails over" fail_over
	check "hardware address: the connection was told" \
		grep -i "address change" "$tracing/trace"
	check "hardware address: unmount" umount "$dir"
	check "hardware address: nothing left" within 30 nothing_left
}

fail_over() {
	local now next=vethA before
	now=$(< /sys/class/net/bond0/bonding/active_slave)
	[[ $now = vethA ]] && next=vethB
	before=$(closed)
	echo "from $now to $next"
	ip link set bond0 type bond active_slave "$next" &&
		within 30 closed_since "$before"
}

"$GUEST_ROLE"
