# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sourced by tests that count Sends, regions, RDMA Reads and Writes, and copied bytes of WRITEs and
# READs with rtrext. Their data is the first MiB of /tmp/data, and the file "read" has that.

dir=${dir-/mnt/nfs}

counts() {
	echo "requests $(counter 'messages XMTREQ' sent)"
	echo "continues $(counter 'messages XMTCONT' sent)"
	echo "responses $(counter 'messages XMTRESP' received)"
	echo "continued $(counter 'messages XMTCONT' received)"
	echo "registrations $(counter registrations)"
	on_server server_counts
}

server_counts() {
	echo "reads $(counter 'RDMA operations' read)"
	echo "writes $(counter 'RDMA operations' write)"
	echo "copied $(counter 'bytes copied' received)"
	echo "sent $(counter 'bytes copied' sent)"
}

# What a command changes.
declare -A change
changes() { # COMMAND...
	local name before after i=0
	readarray -t before < <(counts)
	"$@" || return
	readarray -t after < <(counts)
	for ((i = 0; i < ${#after[@]}; i++)); do
		name=${after[i]% *}
		change[$name]=$((${after[i]##* } - ${before[i]##* }))
		echo "$name ${change[$name]}"
	done
}

# WRITEs or READs of so many KiB.
number() { # KIB
	echo $((1024 / $1 < 16 ? 1024 / $1 : 16))
}

writes() { # KIB
	changes dd if=/tmp/data of="$dir/placed" bs="$1K" count="$(number "$1")" \
		oflag=direct status=none conv=notrunc || return
	cmp -n $(($(number "$1") * $1 * 1024)) /tmp/data "$dir/placed"
}

places() { # KIB SENDS
	local n
	n=$(number "$1")
	writes "$1" || return
	# What goes with each WRITE besides its data is copied.
	((change[requests] == n && change[continues] == n * ($2 - 1))) &&
		((change[registrations] == 0 && change[reads] == 0)) &&
		((change[copied] < n * 2048))
}

chunks() { # KIB
	writes "$1" || return
	((change[requests] == 0 && change[registrations] >= $(number "$1")))
}

prepare() {
	cp /tmp/data "$dir/read" && sync "$dir/read"
}

reads() { # KIB
	rm -f /tmp/back
	changes dd if="$dir/read" of=/tmp/back bs="$1K" count="$(number "$1")" \
		iflag=direct status=none || return
	cmp -n $(($(number "$1") * $1 * 1024)) /tmp/data /tmp/back
}

# The Calls, and what goes with each Reply besides its data, are copied.
placed() { # READS SENDS
	((change[requests] == $1 && change[responses] == $1)) &&
		((change[continues] == 0 && change[continued] == $1 * ($2 - 1))) &&
		((change[registrations] == 0 && change[writes] == 0)) &&
		((change[sent] < $1 * 2048))
}

fetches() { # KIB SENDS
	reads "$1" && placed "$(number "$1")" "$2"
}

writes_chunks() { # KIB
	reads "$1" || return
	((change[responses] == 0 && change[writes] > 0)) &&
		((change[registrations] >= $(number "$1")))
}
