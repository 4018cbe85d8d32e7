# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sourced by tests that count the RDMA operations of the server: direct I/O between
# /tmp/data and a file of the mount at $dir, and its trace events.

# shellcheck disable=SC2154 # $dir and $tracing are lib.sh's
write_direct() { # SIZE COUNT
	dd if=/tmp/data of="$dir/file" bs="$1" count="$2" oflag=direct
}

read_direct() { # SIZE COUNT
	dd if="$dir/file" of=/tmp/back bs="$1" count="$2" iflag=direct &&
		cmp -n $(($1 * $2)) /tmp/data /tmp/back
}

checksum() { # OCTETS
	head -c "$1" /export/file | cksum
}

server_has() { # OCTETS
	[[ $(on_server checksum "$1") = $(head -c "$1" /tmp/data | cksum) ]]
}

# Elements and Work Requests of operations of so many bytes are counted from now on.
forget_operations() {
	: > "$tracing/trace"
}

operations() { # DIRECTION LENGTH NENTS WRS
	local found
	found=$(grep " $2@.* (${1}_DEVICE)" "$tracing/trace" |
		sed 's/.*\(nents=[0-9]*\) .*\(wrs=-\?[0-9]*\) .*/\1 \2/' | sort | uniq -c)
	echo "$found"
	[[ -n $found ]] && ! grep -vE "nents=$3 wrs=$4\$" <<< "$found"
}
