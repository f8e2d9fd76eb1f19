#!/usr/bin/env bash
# Runs every command line it is given, one after the other, also after one that fails. It ends with the packages whose
# tests failed, or with the command line where a failure names none, and fails if any did.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

failures=()
for line in "$@"; do
	printf '%s\n' "$line"
	bash -c "$line" 2>&1 | tee "$log"
	[ "${PIPESTATUS[0]}" -eq 0 ] && continue
	# FAIL <tab> package <tab> seconds, or FAIL <tab> package [build failed]
	mapfile -t packages < <(awk -F '\t' '$1 == "FAIL" && NF > 1 { print $2 }' "$log" | sort -u)
	if [ ${#packages[@]} -eq 0 ]; then
		failures+=("$line")
	else
		failures+=("${packages[@]}")
	fi
done

[ ${#failures[@]} -eq 0 ] && exit 0
printf '\nFAILED:\n'
printf '  %s\n' "${failures[@]}"
exit 1
