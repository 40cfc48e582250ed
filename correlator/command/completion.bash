# SPDX-License-Identifier: GPL-2.0-only
# bash completion of correlator: commands and options are what --help says.

# Those of one command, or without an argument of the tool itself.
_correlator_options() {
	"$tool" "$@" --help 2>/dev/null |
		sed -n -E 's/^ {2,6}((-.), )?(--[a-z-]+).*/\2 \3/p'
}

_correlator_commands() {
	"$tool" --help 2>/dev/null | sed -n -E '/^  -/q; s/^  ([a-z]+) .*/\1/p'
}

# True: the option wants a value.
_correlator_takes_value() {
	case $2 in
	--*) "$tool" "$1" --help 2>/dev/null | grep -qE "^ {2,6}(-., )?$2=" ;;
	-?) "$tool" "$1" --help 2>/dev/null | grep -qE "^  $2, --[a-z-]+=" ;;
	*) false ;;
	esac
}

# Processes that are Ruby by their program or their name.
_correlator_rubies() {
	{
		find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname '*/ruby*' -printf '%h\n' 2>/dev/null
		grep -lsE '^(ruby|puma|sidekiq|unicorn|falcon|rails)' /proc/[0-9]*/comm
	} | sed -E 's,/proc/|/comm,,g' | sort -un
}

# Names of processes that need no quotes: a name can be anything, and must not be run.
_correlator_names() {
	grep -hsxE '[[:alnum:]_.-]+' /proc/[0-9]*/comm | sort -u
}

# Not by compgen -W, which expands words, and so would run what is in them.
_correlator_reply() { # WORDS
	local word words
	read -rd '' -a words <<<"$1"
	for word in "${words[@]}"; do
		[[ $word != "$current"* ]] || COMPREPLY+=("$word")
	done
}

_correlator_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# The beginnings of addresses; behind unix: and file: a file. A colon ends a word of bash's.
_correlator_address() { # BEGINNINGS
	compopt -o nospace 2>/dev/null
	_correlator_reply "$1"
}

# Of a list with commas: the last one, behind those that are there.
_correlator_list() { # WORDS
	local before=${current%"${current##*,}"}
	current=${current##*,}
	compopt -o nospace 2>/dev/null
	_correlator_reply "$1"
	COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

# Those that --sort takes are said where it is refused.
_correlator_figures() {
	"$tool" report --sort '?' - 2>&1 </dev/null | tr '\n,' '  ' | sed -E 's/.* to sort by: one +of //'
}

_correlator_value() { # COMMAND OPTION
	case $1$2 in
	dump-k | dump--kind) _correlator_reply "meta process cpu slice stack sample syscall io stall balance gap self alert" ;;
	report-c | report--columns) _correlator_list "$(_correlator_figures)" ;;
	top--span) _correlator_reply "window 10s all" ;;
	record--native-stacks) _correlator_reply "leaf full off" ;;
	report--stacks) _correlator_reply "top-down bottom-up" ;;
	top--speed) _correlator_reply "max" ;;
	report-s | report--sort | top-s | top--sort) _correlator_reply "$(_correlator_figures)" ;;
	report-b | report--by | top-b | top--by) _correlator_list "request_id endpoint pid tid comm thread_name host_name attribution" ;;
	export-b | export--by) _correlator_reply "request_id endpoint pid tid comm thread_name host_name" ;;
	export-f | export--format) _correlator_reply "perfetto openmetrics ndjson csv folded pprof speedscope otlp" ;;
	report-f | report--format) _correlator_reply "table json csv ndjson" ;;
	*-p | *--pid) _correlator_reply "$(_correlator_rubies)" ;;
	*-k | *--key) _correlator_reply "request_id endpoint queue trace_id parent_request_id
		otel.trace_id otel.span_id" ;;
	*--compress) _correlator_reply gzip ;;
	*--forward | *--to) _correlator_address "tcp:// tls:// unix:" ;;
	*--alert) _correlator_reply "p99(cpu) p99(wall) rate(cpu) count(requests) unattributed residual lost own_cpu" ;;
	*--on-alert) _correlator_files ;;
	*--metrics-by) _correlator_reply endpoint ;;
	*--metrics) _correlator_address "tcp://127.0.0.1: unix: file:" ;;
	*--comm) _correlator_reply "$(_correlator_names)" ;;
	report-H | report--html | report-C | report--compare | *-o | *--output | *--spool | *--config | *--*-file | *--tls-ca | *--tls-cert | *--tls-key) _correlator_files ;;
	esac
}

# The command behind --, with its own completion where there is one.
_correlator_started() { # INDEX
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" -eq "$1" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
	else
		_correlator_files
	fi
}

_correlator() {
	local tool=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]}
	local command=${COMP_WORDS[1]} option=${COMP_WORDS[COMP_CWORD - 1]} index
	COMPREPLY=()

	if [ "$COMP_CWORD" -eq 1 ]; then
		_correlator_reply "$(_correlator_commands) $(_correlator_options)"
		return
	fi
	for ((index = 2; index < COMP_CWORD; index++)); do
		[ "${COMP_WORDS[index]}" != -- ] || [ "$command" != record ] || {
			_correlator_started $((index + 1))
			return
		}
	done
	# --option=value and unix:path are three words to bash.
	if [ "$option" = : ]; then
		[[ $current == //* ]] || _correlator_files
		return
	fi
	if [ "$current" = : ]; then
		current=
		[[ $option == @(unix|file) ]] && _correlator_files
		return
	fi
	if [ "$current" = = ]; then
		current=
	elif [ "$option" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if _correlator_takes_value "$command" "$option"; then
		_correlator_value "$command" "$option"
	elif [[ $current == -* ]]; then
		_correlator_reply "$(_correlator_options "$command")"
	elif [ "$command" = help ]; then
		_correlator_reply "$(_correlator_commands)"
	elif [ "$command" = doctor ]; then
		_correlator_reply "$(_correlator_rubies)"
	elif [ "$command" = top ]; then
		_correlator_files
		local files=("${COMPREPLY[@]}")
		COMPREPLY=()
		_correlator_reply "$(_correlator_rubies)"
		COMPREPLY+=("${files[@]}")
	elif [ "$command" != ps ]; then
		_correlator_files
	fi
}

complete -F _correlator correlator
