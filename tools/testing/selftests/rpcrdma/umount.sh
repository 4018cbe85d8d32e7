#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Proves that umount -f and umount -l end a mount whose Calls a server does not
# answer, and that nothing is left behind.

. "$(dirname "$0")/lib.sh"
in_guests --shared --waits --pair

server() {
	frames_can_be_lost || exit
	serve 4
}

client() {
	begin
	frames_can_be_lost || bail "no netem"
	unmounted 3 -f
	unmounted 4.2 -f
	unmounted 3 -l
	check "server: stop" on_server server_down
	check "server: nothing left" on_server within 30 nothing_left
	end
}

# The call that waits ends with an error, and the mount goes, with the server away
# all the time.
unmounted() { # VERS OPTION
	local what="umount $2, v$1" pids=()
	check "$what: mount" mount_rdma "$1" "$SERVER4" "$dir" timeo=50,retrans=1
	check "$what: data" fill
	check "$what: the server is away" away
	start direct_writer 1M
	start direct_reader 1M
	check "$what: they wait" within 30 all_wait "${pids[@]}"
	check "$what" let_go "$2" "${pids[@]}"
	check "$what: nothing left" within 120 nothing_left
	check "$what: the server is back" back
	check "$what: a new mount" within 60 \
		mount_rdma "$1" "$SERVER4" "$dir" retry=0
	check "$what: works" works
	check "$what: the same data" same_data
	check "$what: unmount" umount "$dir"
	check "$what: nothing left after that" within 30 nothing_left
}

# umount -f ends the calls of those who wait, and then finds nobody there; umount -l
# leaves them, and when they are killed the mount ends.
let_go() { # OPTION PID...
	local begin=$SECONDS
	if [[ $1 = -f ]]; then
		within 60 forced
	else
		umount -l "$dir" && ! is_mounted "$dir" && kill -9 "${@:2}"
	fi || return
	within 60 all_ended "${@:2}" || return
	echo "after $((SECONDS - begin)) s"
	! is_mounted "$dir"
}

forced() {
	timeout 60 umount -f "$dir"
	! is_mounted "$dir"
}

"$GUEST_ROLE"
