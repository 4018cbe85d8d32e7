#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that callbacks work: Calls that the server sends over the client's
# connection. A second client, the server itself over TCP, makes the server recall
# delegations: one, hundreds at once, and while the connection is cut, so that the
# server has to call again on the next connection. The test checks after each step
# that the data is right.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	# A delegation that is not returned in this time is revoked.
	LEASE=60 serve 8
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	local vers
	many=$(amount 200)
	for vers in 4.1 4.2; do
		check "v$vers: mount" mount_rdma "$vers" "$SERVER4" "$dir" || continue
		check "v$vers: second client" on_server mount_other "$vers"
		check "v$vers: read delegation" delegated "$vers.read"
		check "v$vers: recalled by a writer" recalled_by_writer "$vers.read"
		check "v$vers: write delegation, recalled by a reader" \
			recalled_by_reader "$vers.write"
		check "v$vers: delegation" delegated "$vers.cut"
		check "v$vers: recalled while the connection is cut" \
			recalled_while_cut "$vers.cut"
		check "v$vers: works on" works_on "$vers.after"
		check "v$vers: next recall" recalled_in_the_end "$vers.next"
		check "v$vers: many delegations" many_delegated "$vers.many"
		check "v$vers: all recalled at once" many_recalled "$vers.many"
		check "v$vers: second client leaves" on_server umount "$other"
		check "v$vers: unmount" umount "$dir"
	done
	check "nothing left" within 30 nothing_left
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# Write NAME by the second client, and see what the first reads then.
recalled_by_writer() { # NAME
	local before
	before=$(counter "messages CALL_INLINE" received)
	on_server write_other "$1" || return
	was_called "$before" 1 && [[ $(< "$dir/$1") = new ]] &&
		(($(on_server delegations "$1") == 0))
}

was_called() { # BEFORE COUNT
	local now
	now=$(counter "messages CALL_INLINE" received)
	echo "$1 callbacks before, $now now"
	((now >= $1 + $2))
}

many_delegated() { # NAME
	on_server make_many "$1" "$many" &&
		within 90 reads_to_hold "$1" $((many * 9 / 10))
}

# For up to a minute after many recalls nfsd gives few delegations.
reads_to_hold() { # NAME COUNT
	read_many "$1" old && nap 1 && holds "$2" "$1/[0-9]*"
}

make_many() { # NAME COUNT
	local i
	mkdir -p "/export/$1"
	for ((i = 0; i < $2; i++)); do
		echo old > "/export/$1/$i"
	done
}

read_many() { # NAME CONTENT
	local file n=0
	for file in "$dir/$1"/*; do
		[[ $(< "$file") = "$2" ]] || return
		n=$((n + 1))
	done
	((n == many))
}

many_recalled() { # NAME
	local before
	before=$(counter "messages CALL_INLINE" received)
	on_server write_many "$1" || return
	was_called "$before" $((many * 9 / 10)) && read_many "$1" new
}

# Ten at a time, in processes of their own: each waits for its recall.
write_many() { # NAME
	local pids=() pid i
	for i in {0..9}; do
		write_some "$1" "$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || return
	done
}

write_some() { # NAME LAST-DIGIT
	local file
	for file in "$other/$1"/*"$2"; do
		echo new > "$file" || return
	done
}

# What has been written is in the client's cache alone, until it is asked back.
recalled_by_reader() { # NAME
	local before content
	on_server make_file "$1" && within 90 write_holds "$1" || return
	echo dirty >&6
	before=$(counter "messages CALL_INLINE" received)
	content=$(on_server cat "$other/$1")
	exec 6>&-
	echo "the second client read '$content'"
	was_called "$before" 1 && [[ $content = dirty ]]
}

# Opens NAME as 6.
write_holds() { # NAME
	exec 6<> "$dir/$1" && holds 1 "$1"
}

# The call is made while nothing gets through. Both ends lose the connection; the
# client makes a new one, and the server calls again on it.
recalled_while_cut() { # NAME
	local called closed kept=0
	called=$(counter "messages CALL_INLINE" received)
	closed=$(on_server counter connections closed)
	lossy 100 || return
	on_server write_later "$1"
	on_server within 40 cut "$closed" || kept=1
	on_server written && kept=1
	lossy 0 || return
	((kept == 0)) || return
	# Whoever wants something of the server makes the new connection.
	ls "$dir" > /dev/null
	on_server within 60 written || return
	was_called "$called" 1 && [[ $(< "$dir/$1") = new ]]
}

write_later() { # NAME
	rm -f /tmp/written
	(write_other "$1" && : > /tmp/written) > /dev/null 2>&1 &
}

written() {
	[[ -e /tmp/written ]]
}

cut() { # CLOSED-BEFORE
	cat /sys/kernel/debug/rpcrdma/totals
	(($(counter connections closed) > $1))
}

# The answer to that callback can be lost with the connection. nfsd of 6.12 then gives its next
# callback the same number in the session. The client refuses it (NFS4ERR_RETRY_UNCACHED_REP), nfsd
# forgets this recall, and the writer waits until the client returns the delegation by itself. That
# happens once.
recalled_in_the_end() { # NAME
	delegated "$1" && on_server write_other "$1" && [[ $(< "$dir/$1") = new ]]
}

works_on() { # NAME
	echo works > "$dir/$1" && sync -f "$dir" &&
		[[ $(on_server cat "/export/$1") = works ]]
}

"$GUEST_ROLE"
