# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Sourced by tests that count which way data takes: in Sends of $octets bytes, or in chunks.

octets=8192

# The module's counters that matter here: what they were is 'before', what they
# are is 'now'.
declare -A before now
counters() {
	local name value sent received
	now=([call_middle]=0 [reply_middle]=0 [invalidates]=0)
	while IFS=: read -r name value; do
		read -r _ sent _ received <<< "$value"
		case $name in
		"messages CALL_MIDDLE") now[call_middle]=$sent ;;
		"messages REPLY_MIDDLE") now[reply_middle]=$received ;;
		"read chunks") now[read_chunks]=$value ;;
		"write chunks") now[write_chunks]=$value ;;
		"bytes by read chunk") now[read_bytes]=$value ;;
		"bytes by write chunk") now[write_bytes]=$value ;;
		registrations) now[registrations]=$value ;;
		"send queue full") now[full]=$value ;;
		*" invalidates") now[invalidates]=$((now[invalidates] + value)) ;;
		esac
	done < /sys/kernel/debug/rpcrdma/totals
}

remember() {
	local name
	counters
	for name in "${!now[@]}"; do
		before[$name]=${now[$name]}
	done
}

# The counter has grown by this much.
grew() { # COUNTER BY
	local by=$((now[$1] - before[$1]))
	echo "$1: $by, should be $2"
	((by == $2))
}

# Sends of type MIDDLE for a message with a payload of SIZE: $octets bytes each, of
# which 20 are header. The last Send has $octets less 32, or for a Reply less 20. What
# else is in the message, 100 to 400 bytes, tips no count for the sizes here.
middles() { # SIZE
	local left=$(($1 + 250 - (octets - 32)))
	echo $((left > 0 ? (left + octets - 21) / (octets - 20) : 0))
}

by_stream() { # SIZE COUNT CALL|REPLY
	local call=0 reply=0 middle=$(($(middles "$1") * $2))
	[[ $3 = call ]] && call=$middle || reply=$middle
	grew registrations 0 && grew read_chunks 0 && grew write_chunks 0 &&
		grew call_middle "$call" && grew reply_middle "$reply"
}

by_chunk() { # SIZE COUNT CALL|REPLY
	local read=0 write=0
	[[ $3 = call ]] && read=$2 || write=$2
	grew read_chunks "$read" && grew read_bytes $((read * $1)) &&
		grew write_chunks "$write" && grew write_bytes $((write * $1)) &&
		grew registrations "$2" && grew invalidates "$2" &&
		grew call_middle 0 && grew reply_middle 0
}
