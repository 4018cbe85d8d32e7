# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# bash completion for rpcrdmactl(8).

_rpcrdmactl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local words=''

	COMPREPLY=()
	case ${COMP_WORDS[1]-} in
	"$word") words='show watch metrics monitor doctor decode trace set --help' ;;
	show)
		case $before in
		--id) words=$(rpcrdmactl show 2> /dev/null | awk 'NR > 1 { print $1 }') ;;
		*) words='connections devices listeners module --details --id --json --help' ;;
		esac
		;;
	watch)
		[[ $before = --interval || $before = --count || $before = -[in] ]] ||
			words='--interval --count --help'
		;;
	metrics)
		case $before in
		--output | -o) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
		--format | -f) words='openmetrics prometheus' ;;
		*) words='--output --format --help' ;;
		esac
		;;
	doctor)
		words='--json --help'
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
		;;
	monitor) [[ $before = --count || $before = -n ]] || words='--count --json --help' ;;
	trace)
		case $before in
		--time | -t) ;;
		--output | -o) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
		*) words='--time --output --help' ;;
		esac
		;;
	set)
		# "=" may be a word of its own.
		compopt -o nospace 2> /dev/null
		[[ $before = '=' || $word = *=* ]] ||
			words="--id --json --help $(rpcrdmactl set 2> /dev/null |
				awk 'NR > 1 { print $1 "=" }')"
		[[ " ${COMP_WORDS[*]} " != *' --id '* || $before = '=' || $word = *=* ]] ||
			words='receive-size= peer-receive-size= --json --help'
		;;
	decode)
		words='--pcap --json --help'
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	esac
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _rpcrdmactl rpcrdmactl
