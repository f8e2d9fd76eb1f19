#!/usr/bin/env bash
# Looks for known vulnerabilities in what Farrier links, with govulncheck. Where its database cannot be reached it says so in one line
# and does not fail: a change is not wrong because a server is away.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=${1:?the version of govulncheck}
database=${GOVULNDB:-https://vuln.go.dev}

host=${database#*://}
host=${host%%/*}
port=443
case $host in
*:*) port=${host##*:} host=${host%:*} ;;
esac
if [[ $database != file://* ]] && ! timeout 10 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$host" "$port" 2>/dev/null; then
	echo "left out: the database of vulnerabilities, $database, cannot be reached"
	exit 0
fi
for module in . api; do
	(cd "$module" && CGO_ENABLED=0 go run "golang.org/x/vuln/cmd/govulncheck@$version" -db "$database" ./...)
done
