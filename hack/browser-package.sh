#!/usr/bin/env bash
# Looks for the browser of test/dashboard, and as root on Debian installs it.
#
# Exit status 3: there is none, and it cannot be had here.
set -euo pipefail

command -v chromium >/dev/null && exit 0

cannot() {
	echo "the tests of the dashboard in a browser need the Debian package chromium (root and apt-get would install it)" >&2
	exit 3
}

[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || cannot
{
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends chromium
} >&2 || cannot
