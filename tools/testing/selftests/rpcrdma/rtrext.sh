#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that with rtrext at both ends the data of WRITEs are placed by Sends: no memory is
# registered, the server reads nothing by RDMA and copies no data; that a client reads what
# it has written then; and that nothing of this is used if one of the ends does not have it.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --pair

ctl=$SELFTESTS/../../../../build/tools/rpcrdmactl

server() {
	modprobe rpcrdma && set_parameter rtrext 1 || exit
	serve 4
}

client() {
	begin
	modprobe rpcrdma
	head -c 1M /dev/urandom > /tmp/data
	check "both: set" set_parameter rtrext 1
	check "both: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "both: it is shown" shows_it
	# A Receive of the server has two pages.
	for size in 4 8 16 64 128; do
		check "both: WRITE of $size KiB" places $size $((size < 8 ? 1 : size / 8))
	done
	check "both: a WRITE that is too large for a group" chunks 256
	check "both: sizes and offsets" run table table $(($(amount 16) << 20))
	check "both: random operations" run random random 7 "$(amount 150)"
	check "both: groups" at_least 1 "$(counter 'messages XMTREQ' sent)"
	check "both: unmount" umount "$dir"
	without "client" set_parameter rtrext 0
	check "client again: set" set_parameter rtrext 1
	without "server" on_server set_parameter rtrext 0
	end_unloaded
}

# The other end does not have it.
without() { # END COMMAND...
	local groups
	check "not the $1: set" "${@:2}"
	check "not the $1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "not the $1: it is not shown" shows_none
	groups=$(counter 'messages XMTREQ' sent)
	check "not the $1: sizes and offsets" run table table $(($(amount 4) << 20))
	check "not the $1: no groups" equal "$groups" "$(counter 'messages XMTREQ' sent)"
	check "not the $1: unmount" umount "$dir"
}

shows_it() {
	"$ctl" show -d | grep -x '  extensions: rtrext'
}

shows_none() {
	local details
	details=$("$ctl" show -d) && echo "$details" && [[ $details != *extensions* ]]
}

equal() { # WANT GOT
	echo "want $1, got $2"
	(($1 == $2))
}

at_least() { # LEAST GOT
	echo "want $1 or more, got $2"
	(($2 >= $1))
}

counts() {
	echo "requests $(counter 'messages XMTREQ' sent)"
	echo "continues $(counter 'messages XMTCONT' sent)"
	echo "registrations $(counter registrations)"
	on_server server_counts
}

server_counts() {
	echo "reads $(counter 'RDMA operations' read)"
	echo "copied $(counter 'bytes copied' received)"
}

# Sixteen WRITEs of so many KiB.
writes() { # KIB
	local name before after i=0
	readarray -t before < <(counts)
	dd if=/tmp/data of="$dir/placed" bs="$1K" count=$((1024 / $1 < 16 ? 1024 / $1 : 16)) \
		oflag=direct status=none conv=notrunc || return
	readarray -t after < <(counts)
	for ((i = 0; i < ${#after[@]}; i++)); do
		name=${after[i]% *}
		change[$name]=$((${after[i]##* } - ${before[i]##* }))
		echo "$name ${change[$name]}"
	done
	cmp -n $(($1 * 1024)) /tmp/data "$dir/placed"
}

declare -A change
places() { # KIB SENDS
	local n=$((1024 / $1 < 16 ? 1024 / $1 : 16))
	writes "$1" || return
	# What goes with each WRITE besides its data is copied.
	((change[requests] == n && change[continues] == n * ($2 - 1))) &&
		((change[registrations] == 0 && change[reads] == 0)) &&
		((change[copied] < n * 2048))
}

chunks() { # KIB
	writes "$1" || return
	((change[requests] == 0 && change[registrations] >= 4))
}

"$GUEST_ROLE"
