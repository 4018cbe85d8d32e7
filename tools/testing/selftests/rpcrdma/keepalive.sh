#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that a client asks a silent server whether it is still there. If the server
# answers, the connection stays until sunrpc closes it because nobody uses it. If the
# server hangs, the client ends the connection and sends its Calls again. If the
# module parameter keepalive is zero, the client does not ask.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

interval=2

# One thread, and a file system that can be frozen under it.
server() {
	! freezable || disk || exit
	serve 1
}

freezable() {
	modprobe -a loop ext4 2> /dev/null
}

# Not by mount -o loop: it has the device open for writing meanwhile, which a kernel
# without CONFIG_BLK_DEV_WRITE_MOUNTED does not allow.
disk() {
	local device
	truncate -s 64M /run/disk && mkfs.ext4 -q /run/disk && mkdir -p /export &&
		device=$(losetup --find --show /run/disk) && mount "$device" /export
}

client() {
	begin
	head -c 1M /dev/urandom > /tmp/data
	modprobe rpcrdma
	for vers in 3 4.2; do
		silent "$vers" 0
		silent "$vers" "$interval"
	done
	unused 3
	if freezable; then
		stuck 3
	else
		skip "server stuck" "no ext4 to freeze in this kernel"
	fi
	end
}

mounted() { # VERS INTERVAL
	echo "$2" > /sys/module/rpcrdma/parameters/keepalive
	mount_rdma "$1" "$SERVER4" "$dir"
}

# For how many seconds sunrpc takes the transport for unused.
idle() {
	awk '$1 == "xprt:" && $2 == "rdma" { print $7 }' /proc/self/mountstats
}

# NFSv4 renews its lease before it is silent for long: seen for less than that.
silent() { # VERS INTERVAL
	local what="v$1, interval $2" asked closed bad begin
	check "$what: mount" mounted "$1" "$2" || return
	begin=${EPOCHREALTIME/./}
	asked=$(counter keep-alives)
	closed=$(counter connections closed)
	bad=$(counter "unmatched replies")
	sleep 7
	check "$what: asks as often as it should" asks "$2" "$asked" "$begin"
	check "$what: answers are its own" [ "$(counter "unmatched replies")" -eq "$bad" ]
	check "$what: stays connected" [ "$(counter connections closed)" -eq "$closed" ]
	[[ $1 != 3 ]] || check "$what: is idle for sunrpc" [ "$(idle)" -ge 4 ]
	check "$what: unmount" umount "$dir"
}

# On a slow machine seven seconds of sleep can be more.
asks() { # INTERVAL BEFORE BEGIN
	local by time
	by=$(counter keep-alives) || return
	((by -= $2, time = (${EPOCHREALTIME/./} - $3) / 1000000))
	echo "keep-alives: $by in $time s"
	if (($1)); then
		((by >= 1 && by <= time / $1))
	else
		((by == 0))
	fi
}

unused() { # VERS
	local what="v$1, unused" parameter=/sys/module/rpcrdma/parameters/idle_timeout
	local before asked closed
	before=$(< "$parameter")
	echo $((interval * 5)) > "$parameter"
	check "$what: mount" mounted "$1" "$interval" || return
	asked=$(counter keep-alives)
	closed=$(counter connections closed)
	check "$what: closed in time" within 30 closed_since "$closed"
	check "$what: had been asked" [ "$(counter keep-alives)" -gt "$asked" ]
	check "$what: unmount" umount "$dir"
	echo "$before" > "$parameter"
}

stuck() { # VERS
	local what="v$1, server stuck" closed pid
	check "$what: mount" mounted "$1" "$interval" || return
	closed=$(counter connections closed)
	check "$what: freeze" on_server fsfreeze -f /export
	dd if=/tmp/data of="$dir/file" bs=64K oflag=direct 2> /tmp/output &
	pid=$!
	check "$what: connection given up" within 30 closed_since "$closed"
	check "$what: writes go on" kill -0 "$pid"
	check "$what: thaw" on_server fsfreeze -u /export
	check "$what: writes end" within 120 ended "$pid"
	check "$what: they succeeded" wait "$pid"
	check "$what: same data" same
	check "$what: unmount" umount "$dir"
	check "$what: nothing left" within 30 nothing_left
}

ended() { # PID
	[[ ! -e /proc/$1 || $(< "/proc/$1/stat") = *') Z '* ]]
}

same() {
	[[ $(on_server cksum /export/file) = "$(cksum < /tmp/data) /export/file" ]]
}

"$GUEST_ROLE"
