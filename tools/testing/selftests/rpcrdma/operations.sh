# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sourced by tests that count the RDMA operations of the server by its trace events.

# Elements and Work Requests of operations of so many bytes are counted from now on.
# shellcheck disable=SC2154 # $tracing is lib.sh's
forget_operations() {
	: > "$tracing/trace"
}

operations() { # DIRECTION LENGTH NENTS WRS
	local found
	found=$(grep " $2@.* (${1}_DEVICE)" "$tracing/trace" |
		sed 's/.*\(nents=[0-9]*\) .*\(wrs=-\?[0-9]*\) .*/\1 \2/' | sort | uniq -c)
	echo "$found"
	[[ -n $found ]] && ! grep -vE "nents=$3 wrs=$4\$" <<< "$found"
}
