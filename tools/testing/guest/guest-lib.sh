# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Functions for scripts that run in a guest. Source it as
#
#	. "$GUEST_LIB"
#
# Topology, with --pair:
#
#	   client                                       server
#	+-----------------------+            +-----------------------+
#	| rxe0 on eth0          |  Ethernet  | rxe0 on eth0          |
#	|   192.0.2.2/24        |------------|   192.0.2.1/24        |
#	|   2001:db8::2/64      |  MTU 9000  |   2001:db8::1/64      |
#	+-----------------------+            +-----------------------+
#
# eth0 is a virtio device under QEMU, and in virtual time. Otherwise, in user-mode Linux,
# it is one of a pair of datagram sockets of the harness (its driver is "vector"),
# or in a single guest one end of a veth pair.
#
# and without:
#
#	   alone
#	+-----------------------+
#	| rxe0 on eth0          |   the guest mounts its own address; the
#	|   192.0.2.1/24        |   packets never leave rxe0
#	|   2001:db8::1/64      |
#	+-----------------------+
#
# Set for the script: GUEST_ROLE (alone, client or server), GUEST_OUT (a
# directory on the host, per guest: leave files there), GUEST_SHARED (the same
# directory in both guests).
#
# A function that cannot do its work says why on stderr and returns non-zero.

SERVER4=192.0.2.1 SERVER6=2001:db8::1
CLIENT4=192.0.2.2 CLIENT6=2001:db8::2
export SERVER4 SERVER6 CLIENT4 CLIENT6

# Sleep for so many seconds, which may have a fraction, without a process for it: in
# user-mode Linux they take time to begin. guest-init made the pipe, where nothing comes.
if [[ -p /run/nap ]]; then
	exec {nap_fd}<> /run/nap
fi
nap() { # SECONDS
	read -rt "$1" -u "$nap_fd" || true
}

virtual_time() {
	[[ $(< /proc/cmdline) = *time-travel* ]]
}

# Between two looks at something that is to come about. In virtual time that passes at
# once, and to look is what takes long.
glance=0.2
! virtual_time || glance=1

complain() { # MESSAGE...
	echo "$GUEST_ROLE: $*" >&2
	return 1
}

# The file has such a text. This and what follows starts no program, if none is needed:
# in user-mode Linux that takes long.
has_text() { # FILE TEXT
	[[ $'\n'$(< "$1")$'\n' = *"$2"* ]]
}

# A file system is mounted on DIRECTORY. This asks no server, which may be away, as
# mountpoint(1) does.
is_mounted() { # DIRECTORY
	has_text /proc/self/mounts " $1 "
}

load_modules() { # MODULE...
	local module
	for module; do
		is_loaded "$module" || modprobe "$module" || return
	done
}

# One that comes or goes has its directory, too. One that is built in has no state.
is_loaded() { # MODULE
	local state=/sys/module/$1/initstate
	[[ -d ${state%/*} ]] && { [[ ! -e $state ]] || has_text "$state" live; }
} 2> /dev/null

# The network interface that the harness gave us. A kernel may have others.
net_device() {
	local device
	if [[ $(< /proc/cmdline) = *guest.machine=uml* ]]; then
		[[ -e /sys/class/net/eth0 ]] || complain "no network interface" || return
		echo eth0
		return
	fi
	for device in /sys/class/net/*/device/driver; do
		[[ $device -ef /sys/bus/virtio/drivers/virtio_net ]] || continue
		device=${device#/sys/class/net/}
		echo "${device%%/*}"
		return
	done
	complain "no virtio network interface"
}

# user-mode Linux: have an eth0.
net_made() {
	[[ -e /sys/class/net/eth0 ]] || if [[ -e /sys/class/net/vec0 ]]; then
		ip link set vec0 name eth0
	else
		ip link add eth0 mtu 9000 type veth peer name peer0 mtu 9000 &&
			ip link set peer0 up
	fi
}

# Configure lo and the Ethernet. guest-init has done this before a script runs.
net_up() {
	local dev host
	[[ $(< /proc/cmdline) != *guest.machine=uml* ]] || net_made || return
	dev=$(net_device) || return
	[[ $GUEST_ROLE = client ]] && host=2 || host=1
	ip -batch - <<- END
		link set lo up
		link set $dev mtu 9000 up
		addr add 192.0.2.$host/24 dev $dev
		addr add 2001:db8::$host/64 dev $dev nodad
	END
}

# An RDMA device over the Ethernet, of type rxe (default) or siw.
rdma_up() { # [TYPE]
	local type=${1:-rxe} dev
	dev=$(net_device) || return
	load_modules "rdma_$type" 2> /dev/null || load_modules "$type" ||
		complain "no driver for $type" || return
	load_modules ib_uverbs 2> /dev/null
	load_modules rdma_ucm 2> /dev/null
	[[ -e /sys/class/infiniband/${type}0 ]] ||
		rdma link add "${type}0" type "$type" netdev "$dev"
}

rdma_down() { # [TYPE]
	rdma link delete "${1:-rxe}0"
}

# Export a tmpfs of at most SIZE (default half the memory) as server:/export,
# NFSv4 root too, and serve it over RDMA on port 20049 and over TCP on 2049.
# $EXPORT_OPTIONS are added to the export's. The kernel loads the transport by its
# alias when it is told to listen. LEASE is the lease time of NFSv4 in seconds
# (default 10).
server_up() { # [THREADS [SIZE]]
	[[ -d /export ]] || mkdir /export
	is_mounted /export ||
		mount -t tmpfs ${2:+-o size="$2"} export /export || return
	nfsd_loaded || return
	pipefs_up || return
	pidof -q rpcbind || rpcbind -w || return
	exportfs -i -o "rw,no_root_squash,no_subtree_check,insecure,fsid=0${EXPORT_OPTIONS:+,$EXPORT_OPTIONS}" \
		'*:/export' || return
	pidof -q rpc.mountd || rpc.mountd || return
	rpc.nfsd --grace-time 10 --lease-time "${LEASE:-10}" "${1:-4}" || return
	# Of a server that has never run nobody has anything to reclaim. nfsd of 7.3 refuses to
	# end its grace period if no program remembers its clients; then the first open waits.
	[[ -e /run/server_up ]] ||
		{ echo Y > /proc/fs/nfsd/v4_end_grace && : > /run/server_up; } 2> /dev/null
	has_text /proc/fs/nfsd/portlist $'\nrdma 20049' ||
		echo rdma 20049 > /proc/fs/nfsd/portlist ||
		complain "nfsd cannot listen on rdma"
}

# nfsd remembers its clients by itself if it knows no program for that: it would run one for
# each client that comes, and goes.
nfsd_loaded() {
	local program=/sys/module/nfsd/parameters/cltrack_prog
	is_mounted /proc/fs/nfsd && return
	load_modules nfsd && mount -t nfsd nfsd /proc/fs/nfsd || return
	[[ ! -e $program ]] || echo > "$program"
}

# Stop nfsd; every listener goes with its threads.
server_down() {
	rpc.nfsd 0 && exportfs -au
}

pipefs_up() {
	load_modules sunrpc || return
	is_mounted /var/lib/nfs/rpc_pipefs ||
		mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
}

# Mount the server's export over RDMA. VERS as in mount(8): 3, 4.0, 4.1, 4.2.
# ADDRESS is IPv4 or IPv6. OPTIONS are added to the mount's.
mount_rdma() { # VERS ADDRESS DIRECTORY [OPTIONS]
	local address=$2 path=/ options
	[[ $address = *:* ]] && address="[$address]"
	options=vers=$1,proto=rdma,port=20049
	[[ $2 = *:* ]] && options=vers=$1,proto=rdma6,port=20049
	if [[ $1 = 3 ]]; then
		# The MOUNT protocol itself cannot run over RDMA.
		[[ $2 = *:* ]] && options+=,mountproto=tcp6 || options+=,mountproto=tcp
		options+=,nolock path=/export
	fi
	pipefs_up || return
	[[ -d $3 ]] || mkdir -p "$3"
	mount -t nfs -o "$options${4:+,$4}" "$address:$path" "$3"
}

# Tell the other guest that NAME has come about.
signal() { # NAME
	: > "$GUEST_SHARED/$1"
}

# Wait for the other guest to signal NAME, at most SECONDS (default 600: on a busy machine
# an emulated guest takes minutes to come up). Fails at once when the other guest's script
# has failed.
await() { # NAME [SECONDS]
	local end=$((SECONDS + ${2:-600})) failed
	until [[ -e $GUEST_SHARED/$1 ]]; do
		for failed in "$GUEST_SHARED"/*.failed; do
			[[ -e $failed ]] || continue
			complain "gave up waiting for '$1': the other guest failed"
			return
		done
		((SECONDS < end)) || complain "waited ${2:-600} s for '$1'" || return
		nap "$glance"
	done
}

# Wait until a TCP port answers, at most SECONDS (default 30).
await_port() { # ADDRESS PORT [SECONDS]
	local end=$((SECONDS + ${3:-30}))
	until (: > "/dev/tcp/$1/$2") 2> /dev/null; do
		((SECONDS < end)) || complain "no answer from $1 port $2" || return
		nap "$glance"
	done
}
