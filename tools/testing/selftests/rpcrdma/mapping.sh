#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that the module goes on when memory cannot be mapped for the adapter, as where an IOMMU
# or bounce buffers are used up. The module dma_faults lets one of so many mappings fail, at the
# client and at the server, without and with rtrext, and with memory that is offered in its
# directions. What is read is what was written, and when the mount is gone nothing is mapped at
# either end.

. "$(dirname "$0")/lib.sh"
[[ -z ${INTREE-} ]] || exit 4
in_guests --shared --needs checks --waits --pair

faults=/sys/module/dma_faults/parameters
# A client maps what it registers. A server's connection begins with some hundred mappings, and
# ends if an RDMA operation fails.
declare -A every=([here]=5 [on_server]=151)

server() {
	rdma_up rxe && largest_blocks || exit
	if ! modprobe dma_faults; then
		signal ready
		exit 0
	fi
	serve 4
}

client() {
	local where placed offer what
	begin
	if ! modprobe dma_faults; then
		skip "mappings that fail" "dma_faults is for kernels with KUnit"
		finish
	fi
	for what in 'rtrext 0' 'rtrext 1' 'rtrext 1, offer 2'; do
		placed=${what#rtrext }
		placed=${placed%,*}
		offer=0
		[[ $what != *offer* ]] || offer=${what##* }
		check "$what: set" set_parameter rtrext "$placed"
		check "$what: set at the server" on_server set_parameter rtrext "$placed"
		check "$what: offer" set_parameter rtrext_offer "$offer"
		for where in here on_server; do
			mounted "$what, $where" "$where"
		done
	done
	check "remove dma_faults" rmmod dma_faults
	check "server: remove dma_faults" on_server rmmod dma_faults
	end_unloaded
}

mounted() { # WHAT WHERE
	check "$1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	during "$1: mappings fail" some_fail "$2"
	check "$1: unmount" umount "$dir"
	check "$1: nothing left" within 30 nothing_left
	check "$1: nothing is mapped" nothing_mapped
	check "$1: server: nothing left" on_server within 30 nothing_left
	check "$1: server: nothing is mapped" on_server nothing_mapped
}

# Files are written and read until so many have failed.
some_fail() { # WHERE
	local least status=0
	least=$(($("$1" cat "$faults/failed") + (FULL ? 10 : 5)))
	"$1" set_every "${every[$1]}" || return
	while ((status == 0 && $("$1" cat "$faults/failed") < least)); do
		table && same_table
		status=$?
	done
	"$1" set_every 0 && return "$status"
}

set_every() { # NUMBER
	echo "$1" > "$faults/every"
}

nothing_mapped() {
	echo "mapped: $(< "$faults/mapped")"
	(($(< "$faults/mapped") == 0))
}

"$GUEST_ROLE"
