# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What every test here sources first. It moves the script into guests, and
# prints TAP for it.
#
#	. "$(dirname "$0")/lib.sh"
#	in_guests --pair		# or nothing, for one guest
#	server() { ...; }		# run in the server
#	client() { check "name" command...; finish; }
#	"$GUEST_ROLE"
#
# Started on a host, a script restarts itself through tools/testing/qemu/guest,
# whose options in_guests takes. $KERNEL and $INTREE choose the kernel and whose
# transport runs; see guest --help. $SLOW divides the amount of work; it is 8 on a
# kernel with checkers, else 1.

SELFTESTS=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
ran=0 failed=0

in_guests() { # [OPTION OF guest]...
	local slow=1 timeout=600
	[[ ${KERNEL-} = debug* ]] && slow=8 timeout=1800
	[[ -z ${GUEST_ROLE-} ]] &&
		exec "$SELFTESTS/../../qemu/guest" --timeout "$timeout" \
			--env SLOW="${SLOW:-$slow}" "$@" "$(realpath "$0")"
	# shellcheck source=tools/testing/qemu/guest-lib.sh
	. "$GUEST_LIB"
	[[ $GUEST_ROLE = server ]] || echo "TAP version 13"
}

# One test: the command succeeds. What it prints is shown if it does not.
check() { # NAME COMMAND...
	local name=$1 output status
	shift
	ran=$((ran + 1))
	output=$("$@" 2>&1)
	status=$?
	if ((status == 0)); then
		echo "ok $ran - $name"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $ran - $name"
	echo "# status $status of: $*"
	[[ -z $output ]] || echo "# ${output//$'\n'/$'\n# '}"
	return 1
}

skip() { # NAME REASON
	ran=$((ran + 1))
	echo "ok $ran - $1 # SKIP $2"
}

# End the script: the plan, and whether anything failed.
finish() {
	echo "1..$ran"
	exit $((failed > 0))
}

# Nothing further makes sense.
bail() { # REASON
	echo "Bail out! $*"
	exit 1
}

# N divided by $SLOW, but at least 1.
amount() { # N
	echo $(($1 < SLOW ? 1 : $1 / SLOW))
}

# The command succeeds within SECONDS.
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.2
	done
}

# Serve until the client signals 'done', and do what it asks with on_server.
serve() { # [THREADS [SIZE]]
	rdma_up rxe && largest_blocks && server_up "$@" || exit
	signal ready
	obey
}

# rsize and wsize of 1 MiB, whatever memory the guest has.
largest_blocks() {
	modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd &&
		echo 1048576 > /proc/fs/nfsd/max_block_size
}

obey() {
	local ask name
	until [[ -e $GUEST_SHARED/done ]]; do
		for ask in "$GUEST_SHARED"/ask.*; do
			[[ -e $ask ]] || continue
			name=${ask##*/ask.}
			(eval "$(< "$ask")") > "$GUEST_SHARED/answer.$name" 2>&1
			echo $? > "$GUEST_SHARED/status.$name"
			rm "$ask"
			signal "answered.$name"
		done
		sleep 0.1
	done
}

# Run a command in the server: one of its programs, or a function of the script.
on_server() { # COMMAND...
	local name=$BASHPID-$EPOCHREALTIME
	echo "${@@Q}" > "$GUEST_SHARED/new.$name"
	mv "$GUEST_SHARED/new.$name" "$GUEST_SHARED/ask.$name"
	await "answered.$name" 300 || return
	cat "$GUEST_SHARED/answer.$name"
	return "$(< "$GUEST_SHARED/status.$name")"
}

# The client's first steps; $dir is where it mounts.
begin() {
	rdma_up rxe || bail "no RDMA device"
	await ready || bail "no server"
}

end() {
	signal 'done'
	finish
}

# A counter in the module's totals: its first number, or that after WORD.
counter() { # NAME [WORD]
	awk -F ': ' -v name="$1" -v word="${2-}" '
		$1 == name {
			n = split($2, value, " ")
			found = value[1]
			for (i = 1; word != "" && i < n; i++)
				if (value[i] == word)
					found = value[i + 1]
		}
		END { print found + 0 }' /sys/kernel/debug/rpcrdma/totals
}

# No connection is left, nor what it had.
nothing_left() {
	local conns=(/sys/kernel/debug/rpcrdma/conn/*)
	[[ ! -e ${conns[0]} ]] && (($(counter regions) == 0)) &&
		(($(counter connections open) == 0))
}

# The transport that is loaded is the kernel's, not ours.
kernels_own() {
	[[ -e /sys/module/rpcrdma && ! -e /sys/module/rpcrdma/version ]]
}

# Tests of tools/testing/peer, as subtests of one more.
peer_tests() { # FILTER
	local status peer=$SELFTESTS/../../../../build/peer/peer
	check "program" timeout 10 "$peer" --gtest_list_tests || return
	echo "# Subtest: ${peer##*/}"
	timeout 500 "$peer" --gtest_filter="$1" | sed -u 's/^/    /'
	status=${PIPESTATUS[0]}
	ran=$((ran + 1))
	if ((status == 0)); then
		echo "ok $ran - ${peer##*/}"
	else
		failed=$((failed + 1))
		echo "not ok $ran - ${peer##*/} # status $status"
	fi
}

# A mount on DIRECTORY fails soon; what it said goes to /tmp/refused. One attempt of
# mount(8): more of them would only take longer.
refused() { # VERS DIRECTORY
	local begin=$SECONDS output status
	output=$(timeout 60 bash -c ". '$GUEST_LIB'
		mount_rdma '$1' '$SERVER4' '$2' retry=0" 2>&1)
	status=$?
	echo "status $status after $((SECONDS - begin)) s: $output" | tee /tmp/refused
	((status != 0 && status != 124)) && ((SECONDS - begin < 30)) &&
		! mountpoint -q "$2"
}
