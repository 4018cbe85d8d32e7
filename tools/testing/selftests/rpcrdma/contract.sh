#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves Documentation/drop-in.rst:
#
# - how the module is loaded, and that it is refused while the kernel's own is loaded;
# - that its sysctls have the names, modes and ranges of the kernel's own module, which
#   the test loads for the comparison, and that they take effect;
# - what the counters count, and that mountstats has the columns of the kernel's own
#   module and no others, because programs that parse them rely on that;
# - that mountstats, nfsiostat, nfsstat and rpcctl show a mount correctly;
# - that trace events show what happens.
#
# Some columns of mountstats change only if a server breaks rules: tools/testing/peer
# tests these.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

sysctls=/proc/sys/sunrpc
own=/lib/modules/$(uname -r)/kernel/net/sunrpc/xprtrdma/rpcrdma.ko
columns=(port bind_count connect_count connect_time idle_time rpcsends rpcreceives
	badxids inflightsends backlogutil read_segments write_segments reply_segments
	total_rdma_req total_rdma_rep pullup fixup hardway failed_marshal bad_reply
	nomsg_calls recovered_mrs orphaned_mrs allocated_mrs local_invalidates
	empty_sendctx_q reply_waits_for_send)
# The module counts these in debugfs; the kernel's own has nothing like them.
totals=(remote_invalidates no_region retries continued_sent continued_received)

server() {
	rdma_up rxe && largest_blocks || exit
	check_not_loaded || exit
	server_up 4 || exit
	signal ready
	obey
}

# What needs the module first makes the kernel load it.
check_not_loaded() {
	[[ ! -e /sys/module/rpcrdma ]]
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	head -c 2M /dev/urandom > /tmp/data
	loading
	refusal
	compare_sysctls
	client_sysctls
	server_sysctls
	server_counters
	mountstats_columns
	tools
	mountstats_in_a_crowd
	mountstats_of_rpcbind
	version_1
	lowest_versions
	check "remove the module" within 10 rmmod rpcrdma
	check "its files are gone" gone
	end
}

ours() {
	[[ -e /sys/module/rpcrdma/version ]]
}

# ---- loading

loading() {
	check "what modprobe finds is under updates/" found_first
	check "license, dependencies" what_modinfo_says
	local alias
	for alias in rpcrdma rpcrdma6 xprtrdma svcrdma; do
		check "alias $alias loads it" loads "$alias"
	done
	check "rdma-core's list loads it" loads_by_list
	check "mount loads it" loads_by_mount 4.2 "$SERVER4"
	check "mount of an IPv6 address loads it" loads_by_mount 3 "$SERVER6"
	check "nfsd loaded it" on_server ours
	modprobe rpcrdma
	check "version in sysfs" same_version
}

found_first() {
	modinfo -F filename rpcrdma
	[[ $(modinfo -F filename rpcrdma) = */updates/rpcrdma.ko* ]]
}

what_modinfo_says() {
	modinfo rpcrdma
	[[ $(modinfo -F license rpcrdma) = "Dual BSD/GPL" ]] || return
	local module
	for module in sunrpc ib_core rdma_cm; do
		# A kernel that has it built in needs no module.
		[[ $(modinfo -F filename "$module") = *.ko* ]] || continue
		[[ ,$(modinfo -F depends rpcrdma), = *,$module,* ]] || return
	done
}

loads() { # MODULE
	check_not_loaded && modprobe "$1" && ours && rmmod rpcrdma
}

# As the unit rdma-load-modules@.service does; what else is in it may be missing.
loads_by_list() {
	check_not_loaded || return
	if [[ -x /lib/systemd/systemd-modules-load ]]; then
		/lib/systemd/systemd-modules-load /etc/rdma/modules/rdma.conf
	else
		sed -n '/^[^#]/p' /etc/rdma/modules/rdma.conf | xargs -n 1 modprobe
	fi
	ours && rmmod rpcrdma
}

loads_by_mount() { # VERS ADDRESS
	check_not_loaded && mount_rdma "$1" "$2" "$dir" && ours && umount "$dir" &&
		within 10 rmmod rpcrdma
}

same_version() {
	[[ $(< /sys/module/rpcrdma/version) = "$(modinfo -F version rpcrdma)" ]]
}

# ---- one of them

refusal() {
	check "the kernel's own is refused while this one is loaded" no_second
	rmmod rpcrdma
	check "the kernel's own, under another name" load_renamed
	check "this one is refused while that is loaded" refused_with_message
	rmmod another_one
	check "and is loaded when that has gone" modprobe rpcrdma
}

no_second() {
	! insmod "$own" 2> /tmp/error && ours && grep "File exists" /tmp/error
}

# The name is in struct module, with zeros up to its 56th byte; the kernel takes it
# from there. The signature, which does not fit any more, is at the end: 12 bytes, of
# which the last four are its length, and a mark of 28.
load_renamed() {
	/usr/bin/python3 - "$own" /tmp/another_one.ko <<- 'END' || return
		import sys
		with open(sys.argv[1], "rb") as file:
		    module = file.read()
		old, new = b"rpcrdma" + bytes(49), b"another_one" + bytes(45)
		at = module.rindex(old)
		module = module[:at] + new + module[at + len(new):]
		if module.endswith(b"~Module signature appended~\n"):
		    module = module[:-40 - int.from_bytes(module[-32:-28], "big")]
		with open(sys.argv[2], "wb") as file:
		    file.write(module)
	END
	modprobe -a sunrpc ib_core rdma_cm && insmod /tmp/another_one.ko &&
		[[ -e /sys/module/another_one && -e $sysctls/svc_rdma ]]
}

refused_with_message() {
	dmesg -C
	! modprobe rpcrdma && check_not_loaded &&
		dmesg | grep "another module has registered the rdma transport"
}

# ---- sysctls

compare_sysctls() {
	probe > /tmp/ours
	rmmod rpcrdma
	insmod "$own"
	check "the kernel's own transport" kernels_own
	probe > /tmp/theirs
	check "the kernel's own mountstats" look_at_mountstats
	event_fields > /tmp/their_events
	rmmod rpcrdma
	modprobe rpcrdma
	check "sysctls: names, modes, ranges" same_sysctls
	check "sysctls: all are there" all_sysctls
	check "sysctls: defaults" defaults
	check "trace events of the same names have the same fields" same_events
}

# How many numbers the kernel's own module prints.
look_at_mountstats() {
	mount_rdma 3 "$SERVER4" "$dir" && numbers > /tmp/numbers && umount "$dir" &&
		cat /tmp/numbers
}

# Each trace event and each of its fields.
event_fields() {
	awk '$1 == "name:" { event = $2 }
		/field:/ && !/ common_/ {
			sub(/;.*/, ""); sub(/\[[^]]*\]$/, ""); print event, $NF
		}' "$tracing"/events/rpcrdma/*/format | sort
}

# What is named as in the kernel's own module is there what it is here. The number of
# the connection and that of the region in its table are there in none.
same_events() {
	event_fields | grep -E '^(xprt|svc)rdma_' > /tmp/our_events && cat /tmp/our_events &&
		! grep -Ev ' (conn|index)$' /tmp/our_events | grep -vxFf /tmp/their_events
}

# Each file, its mode, and the values that it takes. What a counter takes is not
# compared: it means nothing. The kernel's own module has no choice of versions.
probe() {
	local files file value was
	mapfile -t files < <(find $sysctls -name 'rdma_*' -o -path '*/svc_rdma/*' |
		grep -v '_version$' | sort)
	stat -c '%n %a %U' "${files[@]}"
	for file in "${files[@]}"; do
		[[ ${file##*/} = rdma_stat_@(read|recv|write|sq_starve) ]] && continue
		was=$(< "$file")
		for value in -1 0 1 3 4 6 7 255 256 1023 1024 4095 4096 4097 16384 \
			16385 65536 65537; do
			if { echo "$value" > "$file"; } 2> /dev/null; then
				echo "$file takes $value"
			fi
		done
		echo "$was" > "$file"
	done
}

same_sysctls() {
	diff /tmp/theirs /tmp/ours
}

all_sysctls() {
	(($(grep -c ' 644 root$' /tmp/ours) == 18))
}

# The module is loaded anew, so that nobody has written to them.
defaults() {
	rmmod rpcrdma && modprobe rpcrdma || return
	local name value
	while read -r name value; do
		echo "$name: $(< "$sysctls/$name"), should be $value"
		[[ $(< "$sysctls/$name") = "$value" ]] || return
	done <<- END
		rdma_slot_table_entries 128
		rdma_max_inline_read 8192
		rdma_max_inline_write 8192
		rdma_inline_write_padding 0
		rdma_memreg_strategy 5
		rdma_pad_optimize 0
		rdma_min_version 1
		rdma_max_version 2
		svc_rdma/min_version 1
		svc_rdma/max_version 2
		svc_rdma/max_requests 64
		svc_rdma/max_req_size 8192
		svc_rdma/max_outbound_read_requests 16
		svc_rdma/rdma_stat_read 0
		svc_rdma/rdma_stat_recv 0
		svc_rdma/rdma_stat_write 0
		svc_rdma/rdma_stat_sq_starve 0
	END
}

set_knobs() { # [NAME VALUE]...
	while (($#)); do
		echo "$2" > "$sysctls/$1" || return
		shift 2
	done
}

round_trip() {
	dd if=/tmp/data of="$dir/data" bs=1M oflag=direct &&
		head -c 300001 /tmp/data > "$dir/some" && sync -f "$dir" &&
		forget "$dir/data" "$dir/some" && cmp /tmp/data "$dir/data" &&
		cmp -n 300001 /tmp/data "$dir/some"
}

max_slots() {
	grep -h max_num_slots "$(transports)/xprt_info"
	[[ $(< "$(transports)/xprt_info") = *max_num_slots=$1[^0-9]* ]]
}

# What these say is all that there is where buffers do not grow.
client_sysctls() {
	check "client: buffers stay as they are" set_parameters grow 0
	check "client: set" set_knobs rdma_slot_table_entries 24 \
		rdma_max_inline_read 2048 rdma_max_inline_write 16384 \
		rdma_inline_write_padding 64 rdma_memreg_strategy 6 rdma_pad_optimize 1
	check "client: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "client: rdma_slot_table_entries" max_slots 24
	check "client: inline sizes" one_connection "buffers: send 16384 receive 2048 "
	check "client: the server knows" on_server \
		one_connection "peer properties: send 16384 receive 2048 "
	check "client: the server sends no more" on_server one_connection "largest send: 2048$"
	check "client: data" round_trip
	check "client: unmount" umount "$dir"
	set_knobs rdma_slot_table_entries 128 rdma_max_inline_read 8192 \
		rdma_max_inline_write 8192 rdma_inline_write_padding 0 \
		rdma_memreg_strategy 5 rdma_pad_optimize 0
	set_parameters grow 32768
}

window_is() { # WINDOW
	[[ $(< $sysctls/svc_rdma/max_requests) = "$1" ]] &&
		[[ $(< /sys/module/rpcrdma/parameters/window) = "$1" ]]
}

server_sysctls() {
	check "server: buffers stay as they are" on_server set_parameters grow 0
	check "server: set" on_server set_knobs svc_rdma/max_requests 20 \
		svc_rdma/max_req_size 5000 svc_rdma/max_outbound_read_requests 3
	check "server: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "server: max_requests" on_server one_connection "window: 20 "
	check "server: max_requests is the window" on_server window_is 20
	check "server: max_req_size" on_server one_connection "buffers: send 5000 receive 5000 "
	check "server: the client knows" one_connection "peer properties: send 5000 receive 5000 "
	check "server: max_outbound_read_requests" on_server one_connection "reads at once: 3$"
	check "server: data" round_trip
	on_server set_knobs svc_rdma/max_requests 33
	check "server: a connection follows" on_server within 10 one_connection "window: 33 "
	on_server set_knobs svc_rdma/max_requests 16384
	check "server: max_requests at its most" on_server window_is 16384
	check "server: its queue has an end" on_server within 10 one_connection "window: 256 "
	check "server: unmount" umount "$dir"
	on_server set_parameters grow 32768
	on_server set_knobs svc_rdma/max_requests 1000 svc_rdma/max_req_size 8192
	check "server: mount with a large window" mount_rdma 4.2 "$SERVER4" "$dir"
	check "server: a large window" on_server within 10 one_connection "window: 1000 "
	check "server: data in a large window" round_trip
	check "server: unmount again" umount "$dir"
	on_server set_knobs svc_rdma/max_requests 64 svc_rdma/max_req_size 8192 \
		svc_rdma/max_outbound_read_requests 16
	on_server set_parameters grow 32768
}

# ---- counters

# A column of mountstats, or a counter of the module's.
column() { # NAME
	local -a lines words
	local line i
	case $1 in
	remote_invalidates) counter "remote invalidates" && return ;;
	no_region) counter "no free region" && return ;;
	retries) counter retries && return ;;
	continued_sent) counter "bytes continued" sent && return ;;
	continued_received) counter "bytes continued" received && return ;;
	esac
	for ((i = 0; i < ${#columns[@]}; i++)); do
		[[ ${columns[i]} = "$1" ]] && break
	done
	mapfile -t lines < /proc/self/mountstats
	for line in "${lines[@]}"; do
		[[ $line = *xprt:* ]] || continue
		read -ra words <<< "$line"
		[[ ${words[1]} = rdma ]] || continue
		echo "${words[i + 2]}"
		return
	done
}

stat_of() { # NAME
	cat "$sysctls/svc_rdma/rdma_stat_$1"
}

reset_counters() {
	local name
	for name in read write recv sq_starve; do
		echo 0 > "$sysctls/svc_rdma/rdma_stat_$name" || return
	done
	(($(stat_of read) == 0 && $(stat_of write) == 0 && $(stat_of recv) == 0))
}

server_counters() {
	local reads writes recvs sends
	check "counters: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "counters: data" round_trip
	check "counters: writing makes them zero" on_server reset_counters
	reads=$(column read_segments) writes=$(column write_segments)
	sends=$(column rpcsends)
	dd if=/tmp/data of="$dir/data" bs=1M count=2 oflag=direct
	dd if="$dir/data" of=/dev/null bs=512K count=4 iflag=direct
	reads=$(($(column read_segments) - reads))
	writes=$(($(column write_segments) - writes))
	sends=$(($(column rpcsends) - sends))
	recvs=$(on_server stat_of recv)
	check "counters: rdma_stat_read is what the client offered: $reads" \
		equal "$reads" "$(on_server stat_of read)" 2
	check "counters: rdma_stat_write is what the client offered: $writes" \
		equal "$writes" "$(on_server stat_of write)" 4
	check "counters: rdma_stat_recv, at least $sends" test "$recvs" -ge "$sends"
	check "counters: rdma_stat_sq_starve" on_server number sq_starve
	check "counters: unmount" umount "$dir"
	check "counters: those of closed connections stay" on_server at_least "$recvs"
}

equal() { # A B AT-LEAST
	echo "client $1, server $2"
	(($1 == $2 && $1 >= $3))
}

number() { # NAME
	[[ $(stat_of "$1") =~ ^[0-9]+$ ]]
}

at_least() { # COUNT
	stat_of recv
	(($(stat_of recv) >= $1))
}

mountstats_columns() {
	check "mountstats: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "mountstats: 27 numbers, as many as the kernel's own prints" so_many_columns
	check "mountstats: a parser with room for 31 numbers takes it" parsed
	check "mountstats: that parser refuses 32 numbers" not_parsed 32
	check "mountstats: one connection, version 2" first_connection
	check "mountstats: no chunks for what is small" small
	local -A before
	remember
	dd if=/tmp/data of="$dir/data" bs=1M count=2 oflag=direct
	check "mountstats: two Read chunks" grew read_segments 2 2
	check "mountstats: no Write chunk" grew write_segments 0 0
	check "mountstats: pull-up is not the data" grew pullup 1 65536
	dd if="$dir/data" of=/dev/null bs=1M count=2 iflag=direct
	check "mountstats: two Write chunks" grew write_segments 2 2
	check "mountstats: their octets" grew total_rdma_req 2097152 2200000
	check "mountstats: what came by them" grew total_rdma_rep 2097152 2097152
	check "mountstats: fix-up is not the data" grew fixup 1 65536
	check "mountstats: all regions were invalidated" invalidated
	check "debugfs: regions that the server invalidated" same_in_conn
	head -c 12000 /tmp/data > "$dir/some" && sync -f "$dir"
	check "debugfs: continued" grew continued_sent 12000 20000
	dd if="$dir/some" of=/dev/null bs=12000 iflag=direct
	check "debugfs: continued answers" grew continued_received 12000 40000
	check "mountstats: every RPC was answered" answered
	check "mountstats: nothing went wrong" no_errors
	check "mountstats: it grows idle" within 30 idle_for 2
	check "mountstats: disconnect" within 30 tell "$(transports)/dstaddr" "$SERVER4"
	check "mountstats: data" round_trip
	check "mountstats: another connection, with regions of its own" second_connection
}

# What the columns and counters are, in the caller's array.
remember() {
	local name i words
	while read -ra words; do
		[[ ${words[*]:0:2} != "xprt: rdma" ]] || break
	done < /proc/self/mountstats
	for ((i = 0; i < ${#columns[@]}; i++)); do
		before[${columns[i]}]=${words[i + 2]}
	done
	for name in "${totals[@]}"; do
		before[$name]=$(column "$name")
	done
}

# How many there are in the line of the only mount.
numbers() {
	awk '$1 == "xprt:" && $2 == "rdma" { print NF - 2 }' /proc/self/mountstats
}

so_many_columns() {
	grep '^[[:space:]]*xprt:' /proc/self/mountstats
	[[ $(numbers) = 27 && $(numbers) = "${#columns[@]}" && $(numbers) = $(< /tmp/numbers) ]]
}

# The rule of prometheus/procfs, which node_exporter uses: a line of transport rdma has
# statistics of version 1.1, at least 20 numbers of 64 bits without a sign, and no more
# than its array of 28 + 3 holds. Without a check of that bound, one more ends the
# program. PCP and telegraf read the first 27 and look at no other.
parse() { # NUMBERS-TO-ADD < MOUNTSTATS
	/usr/bin/python3 -S -c 'if True:
		import sys
		version, lines = None, 0
		for words in map(str.split, sys.stdin):
		    if words[:1] == ["device"] and "fstype" in words:
		        version = words[-1].partition("statvers=")[2]
		    if words[:2] != ["xprt:", "rdma"]:
		        continue
		    numbers = words[2:] + ["0"] * int(sys.argv[1])
		    if version != "1.1" or len(numbers) < 20:
		        sys.exit(f"no statistics of rdma: {words}")
		    room = [None] * (28 + 3)
		    for i, text in enumerate(numbers):
		        if not text.isdecimal() or int(text) >> 64:
		            sys.exit(f"not a number of 64 bits: {text}")
		        room[i] = int(text)
		    if None in room[:27]:
		        sys.exit(f"fewer than 27: {words}")
		    lines += 1
		sys.exit(0 if lines else "no line of rdma")' "$1"
}

parsed() {
	parse 0 < /proc/self/mountstats
}

not_parsed() { # NUMBERS
	! parse $(($1 - $(numbers))) < /proc/self/mountstats 2> /tmp/error &&
		grep IndexError /tmp/error
}

first_connection() {
	speaks 2 && (($(column connect_count) == 1)) &&
		(($(column port) == 0 && $(column idle_time) < 60)) &&
		(($(column allocated_mrs) > 0))
}

# A connection's own file has what the totals have, and its version.
same_in_conn() {
	local name
	one_connection "version: 2$" "remote invalidates: " "no free region: " "retries: " \
		"bytes continued: sent [0-9]* received [0-9]*$" || return
	for name in "${totals[@]}"; do
		echo "$name: $(column "$name"), ${before[$name]} before"
	done
	(($(column remote_invalidates) > before[remote_invalidates]))
}

small() {
	echo small > "$dir/small" && sync -f "$dir" &&
		[[ $(< "$dir/small") = small ]] && (($(column read_segments) == 0)) &&
		(($(column write_segments) == 0 && $(column reply_segments) == 0)) &&
		(($(column total_rdma_req) == 0))
}

grew() { # COLUMN FROM TO
	local by=$(($(column "$1") - before[$1]))
	echo "$1: ${before[$1]}, now $by more, should be from $2 to $3"
	((by >= $2 && by <= $3))
}

# By the server, one per Reply, or by the client.
invalidated() {
	local there=$(($(column remote_invalidates) - before[remote_invalidates]))
	local here=$(($(column local_invalidates) - before[local_invalidates]))
	echo "remote $there local $here"
	((there + here >= 4))
}

answered() {
	echo "sends $(column rpcsends) receives $(column rpcreceives)"
	(($(column rpcsends) == $(column rpcreceives) && $(column rpcsends) > 10))
}

no_errors() {
	local name
	for name in badxids hardway failed_marshal bad_reply recovered_mrs orphaned_mrs \
		reply_waits_for_send; do
		echo "$name: $(column $name)"
		(($(column $name) == 0)) || return
	done
	grew retries 0 0
}

second_connection() {
	echo "regions: ${before[allocated_mrs]}, now $(column allocated_mrs)"
	(($(column connect_count) == 2)) &&
		(($(column allocated_mrs) > before[allocated_mrs]))
}

idle_for() { # SECONDS
	echo "idle: $(column idle_time)"
	(($(column idle_time) >= $1))
}

set_parameters() { # [NAME VALUE]...
	while (($#)); do
		set_parameter "$1" "$2" || return
		shift 2
	done
}

# Regions are made before they are short: KUnit has a case in which they are.
is_counted() { # COLUMN
	[[ $(column "$1") =~ ^[0-9]+$ ]]
}

# The columns that move if there is much at once, if messages are long, if they may
# not be, or if frames take their time. Small WRITEs are many at once.
mountstats_in_a_crowd() {
	local -A before
	set_knobs rdma_slot_table_entries 8
	check "crowd: set" set_parameters ddp_threshold 0
	check "crowd: mount" mount_rdma 3 "$SERVER4" "$dir" wsize=16384
	remember
	check "crowd: data" write_at_once
	check "crowd: under way at once" overlapped
	check "crowd: waited for slots" grew backlogutil 128 1000000
	check "crowd: debugfs: how often a region was missing" is_counted no_region
	remember
	check "slow: connect" connect_slowly
	check "slow: time that it took" grew connect_time 1 30
	check "crowd: unmount" umount "$dir"
	set_knobs rdma_slot_table_entries 128

	# 1 MiB does not fit 256 of the pages with which a server begins.
	check "long: set" set_parameters ddp_threshold 4194304 special_threshold 4194304 grow 0
	on_server set_knobs svc_rdma/max_requests 256
	check "long: mount" mount_rdma 3 "$SERVER4" "$dir"
	remember
	check "long: data" write_at_once
	check "long: waited for room in the Send queue" grew empty_sendctx_q 1 1000000
	check "long: no Call chunk" grew nomsg_calls 0 0
	check "long: unmount" umount "$dir"
	on_server set_knobs svc_rdma/max_requests 64

	check "special: set" set_parameters special_threshold 8192
	check "special: mount" mount_rdma 3 "$SERVER4" "$dir"
	remember
	dd if=/tmp/data of="$dir/data" bs=64K count=3 oflag=direct
	check "special: three Call chunks" grew nomsg_calls 3 3
	check "special: data" same_data
	check "special: unmount" umount "$dir"
	check "special: set back" \
		set_parameters ddp_threshold 16384 special_threshold 65536 grow 32768
}

write_at_once() {
	dd if=/tmp/data of="$dir/data" bs=2M oflag=direct && same_data
}

# At each RPC that was sent, itself and others.
overlapped() {
	local sends=$(($(column rpcsends) - before[rpcsends]))
	((sends >= 128)) && grew inflightsends $((2 * sends)) $((8 * sends))
}

# Without a port rpcbind is asked for one, by sunrpc, which knows of TCP's alone.
mountstats_of_rpcbind() {
	check "rpcbind: listen on TCP's port" on_server also_listen 2049
	check "rpcbind: mount" mount -t nfs -o vers=4.2,proto=rdma,port=0 \
		"$SERVER4:/" "$dir"
	check "rpcbind: was asked" test "$(column bind_count)" = 1
	check "rpcbind: works" works
	check "rpcbind: unmount" umount "$dir"
}

also_listen() { # PORT
	echo "rdma $1" > /proc/fs/nfsd/portlist
}

connect_slowly() {
	local device status
	device=$(net_device)
	tc qdisc change dev "$device" root netem delay 1200ms || return
	within 30 tell "$(transports)/dstaddr" "$SERVER4" &&
		timeout $((60 * PATIENCE)) ls "$dir"
	status=$?
	tc qdisc change dev "$device" root netem delay 0
	return "$status"
}

# ---- programs

tools() {
	check "mountstats shows the mount" shows mountstats "$dir" -- \
		"Stats for $SERVER4:/ mounted on $dir:" "vers=4.2,.*proto=rdma,port=20049" \
		"WRITE:" "READ:"
	check "mountstats --xprt shows the transport" shows mountstats --xprt "$dir" -- \
		"Transport protocol: rdma" "Connect count: 2" \
		"RPC requests: [1-9]" "Read segments: $(column read_segments)" \
		"Write segments: $(column write_segments)" \
		"Registered: $(column total_rdma_req) bytes" \
		"RDMA received: $(column total_rdma_rep) bytes" \
		"Total pull-up: [1-9][0-9]* bytes" "Bad replies: 0" \
		"Allocated MRs: $(column allocated_mrs)" \
		"Replies that waited for Send completion: 0"
	check "mountstats --raw prints what the kernel does" within 20 same_raw
	check "nfsiostat shows it" shows iostat -- "^$SERVER4:/ mounted on $dir:"
	check "nfsiostat: data was written, without retransmission" iostat_numbers write
	check "nfsiostat: and read" iostat_numbers read
	check "nfsstat -m" shows nfsstat -m -- "^$dir from $SERVER4:/" \
		"vers=4.2,.*proto=rdma,port=20049"
	check "nfsstat -c" shows nfsstat -c -- "Client rpc stats:" "Client nfs v4"
	if [[ -x /usr/sbin/rpcctl ]]; then
		check "rpcctl xprt" shows rpcctl xprt show -- \
			"xprt-[0-9]*: rdma, $SERVER4, port 20049, state <.*CONNECTED.*BOUND" \
			"max 128"
		check "rpcctl switch" shows rpcctl switch show -- \
			"xprts 1, active 1" "rdma, $SERVER4"
		check "rpcctl client" shows rpcctl client show -- "rdma, $SERVER4"
	else
		skip "rpcctl" "not installed"
	fi
	check "/proc/mounts" shows cat /proc/mounts -- " $dir nfs4 .*proto=rdma,port=20049"
	check "unmount" umount "$dir"
	check "IPv6: mount" mount_rdma 3 "$SERVER6" "$dir"
	check "IPv6: nfsstat -m" shows nfsstat -m -- "proto=rdma6,port=20049"
	check "IPv6: mountstats" shows mountstats --xprt "$dir" -- "Connect count: 1"
	check "IPv6: unmount" umount "$dir"
}

# The same columns, when the two speak as the kernel's own do.
version_1() {
	check "version 1: set" set_knobs rdma_max_version 1
	check "version 1: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	local -A before
	remember
	dd if=/tmp/data of="$dir/data" bs=1M count=2 oflag=direct
	check "version 1: two Read chunks" grew read_segments 2 2
	check "version 1: no Write chunk" grew write_segments 0 0
	dd if="$dir/data" of=/dev/null bs=1M count=2 iflag=direct
	check "version 1: two Write chunks" grew write_segments 2 2
	check "version 1: what came by them" grew total_rdma_rep 2097152 2097152
	check "version 1: nothing is continued" grew continued_sent 0 0
	check "version 1: no Reply chunk" grew reply_segments 0 0
	on_server large_directory 300
	check "version 1: large directory" lists 300
	check "version 1: Reply chunks" grew reply_segments 1 100
	check "version 1: every RPC was answered" answered
	check "version 1: nothing went wrong" no_errors
	check "version 1: mountstats --xprt" shows mountstats --xprt "$dir" -- \
		"Transport protocol: rdma" "Connect count: 1" "Bad replies: 0" \
		"RDMA received: $(column total_rdma_rep) bytes"
	check "version 1: debugfs: version" speaks 1
	check "version 1: a parser takes mountstats" parsed
	check "version 1: unmount" umount "$dir"
	set_knobs rdma_max_version 2
}

enable_events() { # 1|0
	echo "$1" > "$tracing/events/rpcrdma/enable"
}

traced() { # EVENT...
	local event
	for event; do
		grep -m 1 " $event: " "$tracing/trace" || return
	done
}

# Its arguments are the versions that the server speaks.
refusal_of_version() {
	grep -m 1 ' rpcrdma_refuse: .* VERS 2 2$' "$tracing/trace"
}

# A new connection is made, and its Calls fail.
refused_now() {
	within 30 tell "$(transports)/dstaddr" "$SERVER4" &&
		! timeout 60 touch "$dir/refused" &&
		dmesg | grep "rpcrdma: $SERVER4 does not speak version 1"
}

# The highest versions are set by sysctls above, and by parameters in versions.sh.
lowest_versions() {
	check "trace events: enable" enable_events 1
	check "trace events: enable there" on_server enable_events 1
	local -A before
	check "server's lowest version: a client of version 1" \
		set_parameter client_max_version 1
	check "server's lowest version: mount" mount_rdma 3 "$SERVER4" "$dir"
	remember
	check "server's lowest version: set" \
		on_server set_parameter server_min_version 2
	check "server's lowest version: sysctl follows" \
		on_server knob_is svc_rdma/min_version 2
	check "server's lowest version: out of range" \
		on_server refuses_value $parameters/server_min_version 0
	check "server's lowest version: refused" refused_now
	check "server's lowest version: its column" grew bad_reply 1 1000
	check "trace events: a refusal" traced rpcrdma_retry
	check "trace events: the refusal, there" on_server refusal_of_version
	check "server's lowest version: set back" \
		on_server set_knob svc_rdma/min_version 1
	check "server's lowest version: parameter follows" \
		on_server parameter_is server_min_version 1
	check "server's lowest version: served again" within 60 works
	check "server's lowest version: unmount" umount "$dir"
	set_knob rdma_max_version 2

	check "client's lowest version: set" set_parameter client_min_version 2
	check "client's lowest version: sysctl follows" knob_is rdma_min_version 2
	check "client's lowest version: out of range" \
		refuses_value $parameters/client_min_version 3
	check "client's lowest version: mount" mount_rdma 4.2 "$SERVER4" "$dir"
	check "client's lowest version: data" round_trip
	check "client's lowest version: unmount" umount "$dir"
	check "trace events: messages, regions, connections" \
		traced rpcrdma_{rx,tx,cm,connect} xprtrdma_mr_{fastreg,reminv}
	check "trace events: the same there" on_server traced rpcrdma_{rx,tx,cm,connect}
	check "client's lowest version: a server of version 1" \
		on_server set_parameter server_max_version 1
	check "client's lowest version: no mount" \
		nothing_in_common "speaks no version from 2 to 2"
	check "client's lowest version: set back" set_knob rdma_min_version 1
	check "client's lowest version: parameter follows" \
		parameter_is client_min_version 1
	check "client's lowest version: mount again" \
		mount_rdma 4.2 "$SERVER4" "$dir"
	check "client's lowest version: version 1" speaks 1
	check "client's lowest version: unmount again" umount "$dir"
	on_server set_knob svc_rdma/max_version 2
	check "trace events: disable" enable_events 0
	check "trace events: disable there" on_server enable_events 0
}

# The command succeeds and prints something that matches each of the expressions.
shows() { # COMMAND... -- EXPRESSION...
	local -a command=()
	while [[ $1 != -- ]]; do
		command+=("$1")
		shift
	done
	shift
	local output expression
	output=$("${command[@]}" 2>&1) || { echo "$output"; return 1; }
	for expression; do
		grep -q -- "$expression" <<< "$output" && continue
		echo "no '$expression' in:"
		echo "$output"
		return 1
	done
}

# nfs-utils knows all of the numbers by name, and no other one is there. Each only grows, and the
# tool reads them between two looks at what the kernel has; but for the seconds since the transport
# was used.
same_raw() {
	local -a before tool after
	local i idle=6
	read -ra before < <(grep 'xprt:.rdma' /proc/self/mountstats)
	read -ra tool < <(mountstats --raw "$dir" | grep 'xprt:.rdma')
	read -ra after < <(grep 'xprt:.rdma' /proc/self/mountstats)
	printf '%s\n' "${before[*]}" "${tool[*]}" "${after[*]}"
	((${#tool[@]} > idle && ${#tool[@]} == ${#after[@]})) || return
	for ((i = 2; i < ${#tool[@]}; i++)); do
		((i == idle || (before[i] <= tool[i] && tool[i] <= after[i]))) || return
	done
}

# Runs nfsiostat once. iostat_numbers() reads the file. A guest takes long for a program in Python.
iostat() {
	nfsiostat "$dir" > /run/iostat && cat /run/iostat
}

# ops/s kB/s kB/op retrans avg-RTT avg-exe ...
iostat_numbers() { # read|write
	cat /run/iostat
	awk -v "what=$1:" '
		next_one { found = $1 > 0 && $2 > 0 && $4 == 0 && $6 > 0; exit }
		$1 == what { next_one = 1 }
		END { exit !found }' /run/iostat
}

gone() {
	[[ -z $(find $sysctls -name 'rdma_*' -o -path '*/svc_rdma/*') ]] &&
		[[ ! -e /sys/kernel/debug/rpcrdma ]]
}

"$GUEST_ROLE"
