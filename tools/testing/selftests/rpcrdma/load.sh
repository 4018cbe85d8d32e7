#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that operations do not disturb each other: jobs of all block sizes that
# verify what they read, through the page cache and past it; several copies of a tree
# at the same time; more Calls than there are credits, which wait for credits and get
# them; writers that are killed, after which the others go on and nothing is left
# behind.

. "$(dirname "$0")/lib.sh"
in_guests --shared --pair

server() {
	serve 8
}

client() {
	begin
	/usr/bin/python3 -S "$SELFTESTS/tree.py" make /tmp/tree "$(amount 200)"
	head -c 5M /dev/urandom > /tmp/tree/large
	local vers
	for vers in 4.2 ${FULL:+3}; do
		check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		check "v$vers: jobs that verify" verify
		check "v$vers: copies side by side" copies
		check "v$vers: killed writers" kill_writers
		check "v$vers: nobody waits for memory regions" regions_free
		rm -r "${dir:?}"/*
		check "v$vers: unmount" umount "$dir"
	done
	frames_can_be_lost || bail "no netem"
	check "more calls than credits: few credits" on_server offer 4
	check "more calls than credits: mount" \
		mount_rdma 3 "$SERVER4" "$dir" nconnect=1
	check "more calls than credits: data" crowd
	check "more calls than credits: they waited" waited_for_credit
	check "more calls than credits: unmount" umount "$dir"
	check "nothing left" within 10 nothing_left
	end
}

# Job file: sizes in MiB for each of two jobs.
verify() {
	local size
	size=$(amount 8)M
	cat > /tmp/jobs <<- END
		[global]
		directory=$dir
		size=$size
		verify=crc32c
		verify_fatal=1
		randseed=7
		bsrange=4k-1m
		blockalign=4k
		group_reporting
		[direct]
		rw=randrw
		direct=1
		numjobs=2
		[unaligned]
		rw=randwrite
		direct=1
		bsrange=4k-128k
		bs_unaligned
		[cached]
		rw=randrw
		numjobs=2
		fsync=16
	END
	fio --output-format=terse /tmp/jobs
}

copies() {
	local i pids=() pid
	for i in 1 2 3; do
		cp -r /tmp/tree "$dir/copy$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || return
	done
	echo 3 > /proc/sys/vm/drop_caches
	for i in 1 2 3; do
		diff -r /tmp/tree "$dir/copy$i" || return
	done
}

# A kill in the middle of what they do, with and without the page cache.
kill_writers() {
	local i pids=() flag
	for flag in oflag=direct conv=notrunc; do
		for i in 64K 1M; do
			while dd if=/dev/zero of="$dir/killed-$flag-$i" bs="$i" \
				count=8 "$flag" status=none; do :; done &
			pids+=($!)
			disown
		done
	done
	sleep 2
	kill -9 "${pids[@]}"
	pkill -9 -x dd
	within 20 no_writers && echo works > "$dir/after" && sync -f "$dir" &&
		[[ $(on_server cat /export/after) = works ]]
}

no_writers() {
	! pgrep -x dd
}

# Regions of the only connection: all free, when nothing goes on.
regions_free() {
	sync -f "$dir"
	cat /sys/kernel/debug/rpcrdma/conn/*
	within 10 all_free
}

offer() { # CREDITS
	echo "$1" > /sys/module/rpcrdma/parameters/window
}

# 128 threads, two Sends and more for each call. Their way takes long enough for the
# credits to be under way, all of them, however slow the guest.
crowd() {
	local status
	cat > /tmp/crowd <<- END
		[crowd]
		directory=$dir
		thread
		numjobs=128
		size=64k
		bs=16k
		rw=randwrite
		direct=1
		verify=crc32c
		verify_fatal=1
		group_reporting
	END
	late 20
	fio --output-format=terse /tmp/crowd
	status=$?
	late 0
	return $status
}

late() { # MILLISECONDS
	tc qdisc change dev "$(net_device)" root netem delay "$1ms"
}

waited_for_credit() {
	cat /sys/kernel/debug/rpcrdma/conn/*
	awk '/^waits for credit:/ { n += $4 } END { exit !n }' \
		/sys/kernel/debug/rpcrdma/conn/*
}

"$GUEST_ROLE"
