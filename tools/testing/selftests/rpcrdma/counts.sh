#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves what NFS operations ask of the adapter in version 2, with buffers of a fixed size, with
# those that have grown, and with rtrext, and in version 1, counted beneath the transport by the module
# rxe_count, at both ends. All counters that are not named have to be zero, except octets: these
# depend on the lengths of names and handles. But what is copied is so much, or less. Where the
# kernel can tell, the transport takes no more locks than it should.
#
# All Work Requests go through what is counted; so if a change of the module needs more
# of them, or fewer, this test has to be changed with it.

. "$(dirname "$0")/lib.sh"
in_guests --shared --needs checks --waits --pair

count=$SELFTESTS/count.py
with=
operations_with_locks=("READ 4 KiB" "WRITE 4 KiB")

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
	LOCKS=$(traced_locks) count_all
	expected
	locked 7.9 7.7
	judge
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
	LOCKS=$(traced_locks) count_all
	expected_of_grown
	locked 8 7.7
	check "grown: they still have that size" both_are "$default" "$default"
	judge
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
	count_all "${placed[@]}"
	expected_of_rtrext
	judge
	check "rtrext: unmount" umount "$dir"
}

in_version_1() {
	check "version 1: set" set_parameter rtrext 0
	check "version 1: set at the server" on_server set_parameter rtrext 0
	check "version 1: no other" set_knob rdma_max_version 1
	check "version 1: mount" mount_rdma 4.2 "$SERVER4" "$dir" actimeo=600
	check "version 1: spoken" speaks 1
	with="version 1: "
	count_all
	expected_of_version_1
	judge
	check "version 1: unmount" umount "$dir"
}

# All operations, or these.
count_all() { # [OPERATION]...
	rm -f /tmp/counts /tmp/wanted
	wanted=()
	FEWER=$([[ -n $FULL ]] || echo 1) check "${with}count" \
		/usr/bin/python3 -S "$count" run "$dir" /tmp/counts "$@"
}

# A message has one doorbell, however many Sends it takes. Every 16th Send is signaled; every
# fourth, if memory that it was sent from waits for that.
message() { # SENDS [SIGNALED]
	echo "Sends=$1 send_doorbells=1 send_completions=$(part "$1" "${2:-16}")"
}

# To start a program takes a guest long, so bash calculates: by four decimals.
part() { # NUMBER OF
	local n=$(($1 * 10000 / $2))
	printf '%d.%04d\n' $((n / 10000)) $((n % 10000))
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

# Sends of 8192 octets. With what else is in the message, 16 KiB take three of them.
expected() {
	local operation
	small
	for operation in "WRITE 4 KiB" "WRITE 16 KiB"; do
		write_in_stream "$operation" "$(fixed_sends "$operation")"
		moved "$operation" client to_Sends
	done
	copied "WRITE 4 KiB" server "to_Sends<$few" from_Receives=0
	moved "WRITE 16 KiB" server from_Receives
	for operation in "READ 4 KiB" "READ 16 KiB"; do
		read_in_stream "$operation" "$(fixed_sends "$operation")"
	done
	getacl 3
	by_chunk 32 64 256 1024
	readdir 15
}

fixed_sends() { # OPERATION
	[[ $1 = *" 4 KiB" ]] && echo 1 || echo 3
}

# Each message but those of READDIR fits one Send of 32 KiB: no region, no RDMA operation, and the
# server copies no data of a WRITE, since nfsd gets the pages of the one Receive.
expected_of_grown() {
	local operation
	small
	for operation in "WRITE 4 KiB" "WRITE 16 KiB"; do
		write_in_stream "$operation" 1
		moved "$operation" client to_Sends
		copied "$operation" server "to_Sends<$few" from_Receives=0
	done
	for operation in "READ 4 KiB" "READ 16 KiB"; do
		read_in_stream "$operation" 1
	done
	getacl 1
	by_chunk 32 64 256 1024
	readdir 4
}

placed=(GETATTR LOOKUP CREATE "READ 512 B" "WRITE 512 B")
for size in 4 16 32 64 256; do
	placed+=("READ $size KiB" "WRITE $size KiB")
done

# Groups of Sends, each of seven pages: no region and no RDMA operation. The server copies no data,
# the client once.
expected_of_rtrext() {
	local size sends
	small
	for size in 4 16 32 64; do
		sends=$(((size + 27) / 28))
		write_in_stream "WRITE $size KiB" $sends
		moved "WRITE $size KiB" client to_Sends
		copied "WRITE $size KiB" server "to_Sends<$few" "from_Receives<$few"
		read_in_stream "READ $size KiB" $sends
	done
	by_chunk 256
}

# Sends of 8192 octets, and no message in parts: all that does not fit one has a chunk, also
# a Reply.
expected_of_version_1() {
	local received=$received_alone
	small
	write_in_stream "WRITE 4 KiB" 1
	read_in_stream "READ 4 KiB" 1
	by_chunk 16 32 64 256 1024
	reply_by_chunk "GETACL 16 KiB" 1
	reply_by_chunk "READDIR 1000" 2
}

# Those without data, or with less than a page, and what they take at most.
small() {
	local operation
	for operation in GETATTR LOOKUP CREATE "READ 512 B" "WRITE 512 B"; do
		both "$operation" "$one_message $received" "$one_message $received"
	done
}

# A client copies data into its Sends.
write_in_stream() { # OPERATION SENDS
	both "$1" "$(message "$2") $received" "$one_message $(times "$2" "$received")"
}

# The server sends data from where they are, the client copies them to where they shall be.
read_in_stream() { # OPERATION SENDS
	both "$1" "$one_message $(times "$2" "$received")" "$(message "$2" 4) $received"
	copied "$1" server "to_Sends<$few" "from_Receives<$few"
	moved "$1" client from_Receives
}

# As a READ, but there is a GETATTR besides. So sixteen Receives may be posted once more while 32 of
# these are counted.
getacl() { # SENDS
	both "GETACL 16 KiB" "$one_message $(times "$1" "$received") Receives_posted=$1..$1.5" \
		"$(message "$1" 4) $received Receives_posted=1..1.5"
	copied "GETACL 16 KiB" server "to_Sends<$few" "from_Receives<$few"
	moved "GETACL 16 KiB" client from_Receives
}

# One region, which the Reply invalidates. A Work Request takes 64 KiB. The last Write of a
# chunk is signaled, its Send goes with it. What a Read brings has to be there before nfsd gets
# the Call, so the Reply has a doorbell of its own. Nobody copies data.
by_chunk() { # KIB...
	local size name requests work end
	for size in "$@"; do
		name="$size KiB" requests=$(((size + 63) / 64))
		((size < 1024)) || name="1 MiB"
		both "READ $name" "registrations=1 $one_message $received" \
			"RDMA_Writes=$requests Sends_with_invalidate=1 send_doorbells=1
			send_completions=1 $received"
		both "WRITE $name" "registrations=1 $one_message $received" \
			"RDMA_Reads=$requests Sends_with_invalidate=1 send_doorbells=2
			send_completions=1.0625 $received"
		for work in READ WRITE; do
			for end in client server; do
				copied "$work $name" "$end" "to_Sends<$few" "from_Receives<$few"
			done
		done
	done
}

# Two Calls, whose Replies are continued: no region, whatever they become.
readdir() { # SENDS
	both "READDIR 1000" "Sends=2 send_doorbells=2 send_completions=0..0.25
		$(received_at_times "$1")" "Sends=$1 send_doorbells=2
		send_completions=$(part $(($1 - 1)) 4)..$(part $(($1 + 1)) 4)
		$(received_at_times 2)"
	copied "READDIR 1000" server "to_Sends<$((2 * few))" "from_Receives<$((2 * few))"
}

# What has room for a whole Reply are three regions: for its head, its pages, and its tail. The Reply
# invalidates one of them, the client the two others.
reply_by_chunk() { # OPERATION CALLS
	local end
	both "$1" "registrations=$((3 * $2)) local_invalidates=$((2 * $2)) Sends=$2
		send_doorbells=$((2 * $2)) send_completions=$((2 * $2))..$((2 * $2)).25
		$(times "$2" "$received")" "RDMA_Writes=$((3 * $2)) Sends_with_invalidate=$2
		send_doorbells=$2 send_completions=$2 $(times "$2" "$received")"
	for end in client server; do
		copied "$1" "$end" "to_Sends<$(($2 * few))" "from_Receives<$(($2 * few))"
	done
}

# All data is copied once there, and nothing else.
moved() { # "READ|WRITE SIZE KiB" END to_Sends|from_Receives
	local other=to_Sends octets
	read -r _ octets _ <<< "$1"
	octets=$((octets * 1024))
	[[ $3 != to_Sends ]] || other=from_Receives
	copied "$1" "$2" "$3>$octets" "$3<$((octets + few))" "$other<$few"
}

# Of which operations. An emulated kernel has more events of locks than a trace can keep.
traced_locks() {
	! has_text /proc/cpuinfo 'User Mode Linux' || (IFS=, && echo "${operations_with_locks[*]}")
}

# In virtual time the counts of a run are always the same. In real time they depend on what comes
# together: up to 8.6 were seen. When buffers may grow, a work item looks at their sizes once a second.
# If they stay, that takes one lock. In virtual time two seconds pass while 64 READs are counted.
locked() { # READS WRITES, less than
	local operation most_locks=$1
	for operation in "${operations_with_locks[@]}"; do
		[[ $operation = READ* ]] || most_locks=$2
		virtual_time || most_locks=9
		if grep -q '"locks"' /tmp/counts; then
			want "$operation: locks, both ends" locked "$operation" "$most_locks"
		else
			skip "$with$operation: locks, both ends" "for user-mode Linux with lockdep"
		fi
	done
}

# So many times as much of everything.
times() { # FACTOR NAME=NUMBER...
	local word number decimals
	for word in $2; do
		number=${word#*=}.0
		decimals=${number#*.}0000
		number=$((10000 * ${number%%.*} + 10#${decimals:0:4}))
		echo "${word%%=*}=$(part $(($1 * number)) 10000)"
	done
}

both() { # OPERATION CLIENT SERVER
	# shellcheck disable=SC2086 # several words
	want "$1: client" numbers "$1" client $2
	# shellcheck disable=SC2086 # several words
	want "$1: server" numbers "$1" server $3
}

copied() { # OPERATION END NAME=NUMBER|NAME<NUMBER|NAME>NUMBER...
	want "$1: copied by the $2" copied "$@"
}

# The numbers are looked at later, all by one program.
want() { # NAME WHAT OPERATION WORD...
	local IFS=$'\t'
	wanted+=("$1")
	echo "${*:2}" >> /tmp/wanted
}

judge() {
	local i text right
	rm -rf /tmp/judged
	mkdir /tmp/judged && /usr/bin/python3 -S "$count" judge /tmp/counts /tmp/judged < /tmp/wanted
	for i in "${!wanted[@]}"; do
		text=$(< "/tmp/judged/$i") && [[ $text = right* ]]
		right=$?
		found "$with${wanted[i]}" "$right" "$text" judge
	done
}

"$GUEST_ROLE"
