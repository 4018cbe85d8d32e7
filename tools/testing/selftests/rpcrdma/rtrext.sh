#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that with rtrext at both ends the data of WRITEs and READs are placed by Sends: no
# memory is registered, the server reads and writes nothing by RDMA and copies no data; that a
# client reads what it has written then; that a client offers memory for READs as rtrext_offer
# says, and the server does with it what it shall; and that nothing of this is used if one of
# the ends does not have it, or speaks version 1 alone.

. "$(dirname "$0")/lib.sh"
# shellcheck source=tools/testing/selftests/rpcrdma/groups.sh
. "$SELFTESTS/groups.sh"
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
	check "both: buffers have what they may grow to" sizes_are 29696 29696
	check "both: the server's, too" on_server sizes_are 29696 29696
	# A Receive has seven pages besides its head.
	for size in 4 16 28 32 64 128; do
		check "both: WRITE of $size KiB" places $size $(((size + 27) / 28))
	done
	check "both: a WRITE that is cheaper by a chunk" chunks 256
	check "both: a file to read" prepare
	for size in 4 16 28 32 64 128; do
		check "both: READ of $size KiB" fetches $size $(((size + 27) / 28))
	done
	check "both: a READ that is cheaper by a chunk" writes_chunks 256
	check "both: READs that begin inside of a page" fetches_unaligned
	check "both: a READ of less than it asks for" fetches_end
	check "both: many READs at once" many
	check "both: sizes and offsets" run table table $(($(amount 16) << 20))
	check "both: random operations" run random random 7 "$(amount 150)"
	check "both: READs whose Replies are kept" fetches 64 3
	check "both: they are kept" at_least 65536 "$(on_server kept)"
	check "both: not for long" within 30 on_server forgotten
	check "both: groups" at_least 1 "$(counter 'messages XMTREQ' sent)"
	offers
	check "both: unmount" umount "$dir"
	small
	without "not the client" on_server here set_parameter rtrext 0
	check "client again: set" set_parameter rtrext 1
	without "not the server" here on_server set_parameter rtrext 0
	check "server again: set" on_server set_parameter rtrext 1
	version1 "client of version 1" on_server here rdma_max_version
	version1 "server of version 1" here on_server svc_rdma/max_version
	end_unloaded
}

# A client registers memory as for a Write chunk, and the server learns of it in a direction.
offers() {
	check "offers, EXRW: set" set_parameter rtrext_offer 1
	check "offers, EXRW: a READ of 16 KiB needs none" fetches 16 1
	for size in 32 128 256; do
		check "offers, EXRW: READ of $size KiB" writes_offered $size
	done
	check "offers, CHOICE: set" set_parameter rtrext_offer 2
	for size in 32 128; do
		check "offers, CHOICE: READ of $size KiB" chooses_sends $size $(((size + 27) / 28))
	done
	check "offers, CHOICE: READ of 256 KiB" writes_offered 256
	check "offers, BYSIZE: set" set_parameter rtrext_offer 3
	check "offers, BYSIZE: a READ of 128 KiB needs none" fetches 128 5
	check "offers, BYSIZE: READ of 256 KiB" writes_offered 256
	check "offers, BYSIZE: READs of less than they ask for" offers_end
	check "offers, BYSIZE: many READs at once" many
	check "offers, BYSIZE: sizes and offsets" run table table $(($(amount 16) << 20))
	check "offers, BYSIZE: random operations" run random random 8 "$(amount 150)"
	check "offers: no longer" set_parameter rtrext_offer 0
	check "offers: as before" fetches 64 3
}

# Buffers do not grow: a Receive has two pages besides its head. The rest of a group of many Sends
# goes while few of them have a buffer, too.
small() {
	check "small: set" set_parameter grow 0
	check "small: set at the server" on_server set_parameter grow 0
	check "small: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "small: buffers" sizes_are 9216 9216
	for size in 4 8 16 64 128; do
		check "small: WRITE of $size KiB" places $size $((size < 8 ? 1 : size / 8))
	done
	check "small: a WRITE that is too large for a group" chunks 256
	for size in 4 8 16 32 64 128; do
		check "small: READ of $size KiB" fetches $size $((size < 8 ? 1 : size / 8))
	done
	check "small: a READ that is too large for a group" writes_chunks 256
	check "small: unmount" umount "$dir"
	# The client's Sends do not fill the server's Receives, and the other way round they do.
	check "other sizes: set at the server" on_server set_parameter grow 32768
	check "other sizes: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "other sizes: buffers" sizes_are 9216 9216
	check "other sizes: a WRITE of 64 KiB" chunks 64
	check "other sizes: a READ of 64 KiB" fetches 64 8
	check "other sizes: unmount" umount "$dir"
	check "small: no longer" set_parameter grow 32768
}

# One end does not have it.
without() { # WHAT END-THAT-HAS-IT END-THAT-HAS-NOT COMMAND...
	check "$1: set" "${@:3}"
	check "$1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "$1: it is not shown" shows_none
	check "$1: unmount" umount "$dir"
	beside_rtrext "$1" 4.2 "$2" 2
}

# Both have it, and one cannot say so.
version1() { # WHAT END OTHER-END KNOB
	check "$1: set" "$3" set_knob "$4" 1
	# version1_*.sh have all with the kernel's own transport, which speaks no other version.
	beside_rtrext "$1" 4.2 "$2" 1 data
	check "$1: no longer" "$3" set_knob "$4" 2
}

shows_it() {
	"$ctl" show -d | grep -x '  extensions: rtrext'
}

shows_none() {
	local details
	details=$("$ctl" show -d) && echo "$details" && [[ $details != *extensions* ]]
}

at_least() { # LEAST GOT
	echo "want $1 or more, got $2"
	(($2 >= $1))
}

# Bytes that Replies hold at the server: those that a client could refuse.
kept() {
	"$ctl" show -d | sed -n 's/^  memory: .* replies \([0-9]*\) of .*/\1/p'
}

forgotten() {
	(($(kept) == 0))
}

# Of each page of the file a part is in one page of the client, and the rest in the next.
fetches_unaligned() {
	rm -f /tmp/back
	changes dd if="$dir/read" of=/tmp/back bs=8K count=16 skip=2560 iflag=direct,skip_bytes \
		status=none || return
	cmp -n 131072 -i 2560:0 /tmp/data /tmp/back || return
	# Of two pages 2560 bytes are at the end, and 1536 at the beginning: these are copied.
	((change[responses] == 16 && change[registrations] == 0 && change[writes] == 0)) &&
		((change[sent] < 16 * 6144))
}

# The last READ gets half a page, which stays in the Payload stream; the next one nothing.
fetches_end() {
	head -c 10240 /tmp/data > "$dir/short" && sync "$dir/short" || return
	rm -f /tmp/back
	changes dd if="$dir/short" of=/tmp/back bs=8K iflag=direct status=none || return
	cmp /tmp/back <(head -c 10240 /tmp/data) || return
	((change[responses] >= 1 && change[registrations] == 0 && change[writes] == 0))
}

# What was written is not in the Replies, and all regions are the client's again.
writes_offered() { # KIB
	local n
	n=$(number "$1")
	reads "$1" || return
	((change[requests] == n && change[responses] == n)) &&
		((change[continues] == 0 && change[continued] == 0)) &&
		((change[registrations] == n && change[writes] >= n)) &&
		((change[sent] < n * 2048))
}

# The memory is not used.
chooses_sends() { # KIB SENDS
	local n
	n=$(number "$1")
	reads "$1" || return
	((change[requests] == n && change[responses] == n)) &&
		((change[continues] == 0 && change[continued] == n * ($2 - 1))) &&
		((change[registrations] == n && change[writes] == 0)) &&
		((change[sent] < n * 2048))
}

# READs of 256 KiB from a file of 10 KiB: one gets that by Sends, and perhaps one gets nothing.
offers_end() {
	head -c 10240 /tmp/data > "$dir/short" && sync "$dir/short" || return
	rm -f /tmp/back
	changes dd if="$dir/short" of=/tmp/back bs=256K iflag=direct status=none || return
	cmp /tmp/back <(head -c 10240 /tmp/data) || return
	((change[requests] >= 1 && change[responses] >= 1)) &&
		((change[registrations] >= 1 && change[writes] == 0))
}

# They want more Receives together than there are: some go by RDMA.
many() {
	local i pids=()
	for ((i = 0; i < 16; i++)); do
		dd if="$dir/read" of="/tmp/back$i" bs=128K iflag=direct status=none &
		pids+=($!)
	done
	wait "${pids[@]}" || return
	for ((i = 0; i < 16; i++)); do
		cmp /tmp/data "/tmp/back$i" || return
	done
}

"$GUEST_ROLE"
