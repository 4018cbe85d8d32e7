#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what NFS operations ask of the adapter in version 2, with buffers of a fixed size, with
# those that have grown, and with rtrext, and in version 1, counted beneath the transport by the module
# rxe_count, at both ends. What is not named is nothing. Octets
# are left out: they depend on the lengths of names and handles. But what is copied is so
# much, or less. Where the kernel can tell, the transport takes no more locks than it should.
#
# All Work Requests go through what is counted; so if a change of the module needs more
# of them, or fewer, this test has to be changed with it.

. "$(dirname "$0")/lib.sh"
in_guests --waits --pair

count=$SELFTESTS/count.py
with=

server() {
	modprobe rpcrdma && set_parameter grow 0 && rdma_up rxe && largest_blocks || exit
	# A delegation makes some operations unnecessary.
	echo 0 > /proc/sys/fs/leases-enable
	if modprobe rxe_count; then
		LEASE=3600 server_up 4 && /usr/bin/python3 -S "$count" prepare /export || exit
	fi
	signal ready
	obey
}

client() {
	begin
	if ! modprobe rxe_count; then
		skip "counts" "rxe_count is for kernels with KUnit"
		end
	fi
	# xcharext.sh counts what changes.
	modprobe rpcrdma
	default=$(< $parameters/grow)
	check "sizes stay" set_parameter grow 0
	check "mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	LOCKS=$(can_trace_locks) check "count" /usr/bin/python3 -S "$count" run "$dir" /tmp/counts
	expected
	locked 7.9 7.7
	check "unmount" umount "$dir"
	with_grown_buffers
	with_rtrext
	in_version_1
	end
}

# As the module is when nobody sets anything: buffers have their largest size as soon as there
# were messages that need it. Both ends say so, and have no buffer of another size then.
with_grown_buffers() {
	check "grown: set" set_parameter grow "$default"
	check "grown: set at the server" on_server set_parameter grow "$default"
	check "grown: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	with="grown: "
	check "grown: WRITEs" within 60 work_until write 16K grown_by_writes
	check "grown: READs" within 60 work_until read_back 16K both_are "$default" "$default"
	LOCKS=$(can_trace_locks) count_again "${sent[@]}"
	expected_of_grown
	locked 8 7.7
	check "grown: they still have that size" both_are "$default" "$default"
	check "grown: unmount" umount "$dir"
	check "grown: no longer" set_parameter grow 0
	check "grown: no longer at the server" on_server set_parameter grow 0
}

# The client's Sends, and the server's Receives.
grown_by_writes() {
	[[ $(buffers send) = "$default" ]] &&
		on_server sizes_are "$(buffers receive)" "$default"
}

with_rtrext() {
	check "rtrext: set" set_parameter rtrext 1
	check "rtrext: set at the server" on_server set_parameter rtrext 1
	check "rtrext: buffers have what others grow to" set_parameter grow "$default"
	check "rtrext: the server's, too" on_server set_parameter grow "$default"
	check "rtrext: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	with="rtrext: "
	count_again "${placed[@]}"
	expected_of_rtrext
	check "rtrext: unmount" umount "$dir"
}

in_version_1() {
	check "version 1: set" set_parameter rtrext 0
	check "version 1: set at the server" on_server set_parameter rtrext 0
	check "version 1: no other" set_knob rdma_max_version 1
	check "version 1: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	check "version 1: spoken" speaks 1
	with="version 1: "
	count_again GETATTR "READ 4 KiB" "READ 64 KiB" "WRITE 4 KiB" "WRITE 64 KiB"
	expected_of_version_1
	check "version 1: unmount" umount "$dir"
}

count_again() { # OPERATION...
	rm /tmp/counts
	check "${with}count" /usr/bin/python3 -S "$count" run "$dir" /tmp/counts "$@"
}

# A message has one doorbell, however many Sends it takes. Every 16th Send is signaled; every
# fourth, if memory that it was sent from waits for that.
message() { # SENDS [SIGNALED]
	awk -v n="$1" -v every="${2:-16}" \
		'BEGIN { print "Sends=" n " send_doorbells=1 send_completions=" n / every }'
}
one_message=$(message 1)
# Sixteen Receives are posted together.
received="Receives_posted=1 receive_doorbells=0.0625 receive_completions=1"
# The same where so few operations are counted that it matters when those are posted.
received_at_times() { # RECEIVES
	echo "Receives_posted=$(($1 > 4 ? $1 - 4 : 0))..$(($1 + 4)) receive_doorbells=0..1.25
		receive_completions=$1"
}
# In version 1 each is posted when it is free.
received_alone="Receives_posted=1 receive_doorbells=1 receive_completions=1"
# All but data: what is in front of it, and messages that have none.
few=1024

# What a Call and its Reply take at most.
expected() {
	local size operation end
	# Each fits one Send of 8192 octets.
	for operation in GETATTR LOOKUP CREATE "READ 512 B" "WRITE 512 B" "WRITE 4 KiB"; do
		both "$operation" "$one_message $received" "$one_message $received"
	done
	both "READ 4 KiB" "$one_message $received" "$(message 1 4) $received"
	# With what else is in the message, 16 KiB take three Sends.
	both "READ 16 KiB" "$one_message $(times 3 "$received")" \
		"$(message 3 4) $received"
	both "WRITE 16 KiB" "$(message 3) $received" \
		"$one_message $(times 3 "$received")"
	both "GETACL 16 KiB" "$one_message $(times 3 "$received")" \
		"$(message 3 4) $received"
	# A chunk: one region, which the Reply invalidates. A Work Request takes 64 KiB.
	# The last Write of a chunk is signaled, its Send goes with it. What a Read brings
	# has to be there before nfsd gets the Call, so the Reply has a doorbell of its own.
	for size in 64 256 1024; do
		operation="$size KiB"
		((size < 1024)) || operation="1 MiB"
		both "READ $operation" "registrations=1 $one_message $received" \
			"RDMA_Writes=$((size / 64)) Sends_with_invalidate=1 send_doorbells=1
			send_completions=1 $received"
		both "WRITE $operation" "registrations=1 $one_message $received" \
			"RDMA_Reads=$((size / 64)) Sends_with_invalidate=1 send_doorbells=2
			send_completions=1.0625 $received"
	done
	copies
	# Two Calls, whose Replies are continued: no region, whatever they become.
	check "READDIR of 1000 entries: no chunk" no_chunk "READDIR 1000"
	both "READDIR 1000" "Sends=2 send_doorbells=2 send_completions=0..0.25
		$(received_at_times 15)" "Sends=15 send_doorbells=2 send_completions=3.5..4
		$(received_at_times 2)"
}

# Of what follows READs one Send more is signaled, for the memory that the last of them were sent
# from: that is the small WRITE.
sent=("READ 4 KiB" "READ 16 KiB" "WRITE 512 B" "WRITE 4 KiB" "WRITE 16 KiB")

# Each message fits one Send: no region, no RDMA operation, and the server copies no data of a
# WRITE, since nfsd gets the pages of the one Receive.
expected_of_grown() {
	local size
	for size in 4 16; do
		both "WRITE $size KiB" "$one_message $received" "$one_message $received"
		moved WRITE "$size" client to_Sends
		copied "WRITE $size KiB" server "to_Sends<$few" from_Receives=0
		both "READ $size KiB" "$one_message $received" "$(message 1 4) $received"
		copied "READ $size KiB" server "to_Sends<$few" "from_Receives<$few"
		moved READ "$size" client from_Receives
	done
}

placed=(GETATTR "READ 512 B" "WRITE 512 B")
for size in 4 16 64 256; do
	placed+=("READ $size KiB" "WRITE $size KiB")
done

# Groups of Sends, each of seven pages: no region and no RDMA operation. The server copies no data,
# the client once.
expected_of_rtrext() {
	local size sends operation
	for operation in GETATTR "READ 512 B" "WRITE 512 B"; do
		both "$operation" "$one_message $received" "$one_message $received"
	done
	for size in 4 16 64; do
		sends=$(((size + 27) / 28))
		both "WRITE $size KiB" "$(message $sends) $received" \
			"$one_message $(times $sends "$received")"
		copied "WRITE $size KiB" server "to_Sends<$few" "from_Receives<$few"
		moved WRITE $size client to_Sends
		both "READ $size KiB" "$one_message $(times $sends "$received")" \
			"$(message $sends 4) $received"
		copied "READ $size KiB" server "to_Sends<$few" "from_Receives<$few"
		moved READ $size client from_Receives
	done
	both "READ 256 KiB" "registrations=1 $one_message $received" \
		"RDMA_Writes=4 Sends_with_invalidate=1 send_doorbells=1 send_completions=1 $received"
	both "WRITE 256 KiB" "registrations=1 $one_message $received" \
		"RDMA_Reads=4 Sends_with_invalidate=1 send_doorbells=2 send_completions=1.0625 $received"
}

# As in version 2, but for Receives.
expected_of_version_1() {
	local operation
	for operation in GETATTR "WRITE 4 KiB"; do
		both "$operation" "$one_message $received_alone" "$one_message $received_alone"
	done
	both "READ 4 KiB" "$one_message $received_alone" "$(message 1 4) $received_alone"
	both "READ 64 KiB" "registrations=1 $one_message $received_alone" \
		"RDMA_Writes=1 Sends_with_invalidate=1 send_doorbells=1 send_completions=1
		$received_alone"
	both "WRITE 64 KiB" "registrations=1 $one_message $received_alone" \
		"RDMA_Reads=1 Sends_with_invalidate=1 send_doorbells=2 send_completions=1.0625
		$received_alone"
}

# A client copies data into Sends, a server sends it from where it is. A Reply is copied to
# where the client wants it. A Call that came in one Receive is in pages, which nfsd gets;
# only what came in parts is copied together.
copies() {
	moved WRITE 4 client to_Sends
	copied "WRITE 4 KiB" server "to_Sends<$few" from_Receives=0
	moved WRITE 16 client to_Sends
	moved WRITE 16 server from_Receives
	copied "READ 4 KiB" server "to_Sends<$few" "from_Receives<$few"
	moved READ 4 client from_Receives
	copied "READ 16 KiB" server "to_Sends<$few" "from_Receives<$few"
	moved READ 16 client from_Receives
	for operation in "READ 64 KiB" "WRITE 64 KiB" "READ 1 MiB" "WRITE 1 MiB"; do
		for end in client server; do
			copied "$operation" "$end" "to_Sends<$few" "from_Receives<$few"
		done
	done
}

# All data is copied once there, and nothing else.
moved() { # READ|WRITE KIB END to_Sends|from_Receives
	local other=to_Sends octets=$(($2 * 1024))
	[[ $4 != to_Sends ]] || other=from_Receives
	copied "$1 $2 KiB" "$3" "$4>$octets" "$4<$((octets + few))" "$other<$few"
}

copied() { # OPERATION END NAME=NUMBER|NAME<NUMBER|NAME>NUMBER...
	check "$with$1: copied by the $2" /usr/bin/python3 -S "$count" copied /tmp/counts "$1" "$2" \
		"${@:3}"
}

# An emulated kernel has more events of locks than a trace can keep.
can_trace_locks() {
	! grep -q 'User Mode Linux' /proc/cpuinfo || echo 1
}

# In virtual time the counts of a run are always the same. In real time they depend on what comes
# together: up to 8.6 were seen. When buffers may grow, a work item looks at their sizes once a second.
# If they stay, that takes one lock. In virtual time two seconds pass while 64 READs are counted.
locked() { # READS WRITES, less than
	local operation most_locks=$1
	for operation in "READ 4 KiB" "WRITE 4 KiB"; do
		[[ $operation = READ* ]] || most_locks=$2
		virtual_time || most_locks=9
		if grep -q '"locks"' /tmp/counts; then
			check "$with$operation: locks, both ends" /usr/bin/python3 -S "$count" locked \
				/tmp/counts "$operation" "$most_locks"
		else
			skip "$with$operation: locks, both ends" "for user-mode Linux with lockdep"
		fi
	done
}

# So many times as much of everything.
times() { # FACTOR NAME=NUMBER...
	local word
	for word in $2; do
		awk -v factor="$1" -F = '{ print $1 "=" factor * $2 }' <<< "$word"
	done
}

both() { # OPERATION CLIENT SERVER
	# shellcheck disable=SC2086 # several words
	check "$with$1: client" counted "$1" client $2
	# shellcheck disable=SC2086 # several words
	check "$with$1: server" counted "$1" server $3
}

counted() { # OPERATION END NAME=NUMBER...
	/usr/bin/python3 -S "$count" check /tmp/counts "$1" "$2" "${@:3}"
}

no_chunk() { # OPERATION
	local line
	line=$(grep "\"operation\": \"$1\"" /tmp/counts) && echo "$line" &&
		! grep -E 'registrations|invalidate|RDMA' <<< "$line"
}

"$GUEST_ROLE"
