#!/usr/bin/env bash
# Unpacks promtool, of Debian's package prometheus, below bin/prometheus, where the tests of the alerts look for it. Nothing is installed.
#
# Exit status 3: it is not there and cannot be had here; says why.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$PWD/bin/prometheus

if command -v promtool >/dev/null || [ -x "$folder/usr/bin/promtool" ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "promtool is in Debian's package prometheus, and there is no apt-get here to fetch it" >&2
	exit 3
fi
mkdir -p "$folder"
cd "$folder"
if ! apt-get -qq -o APT::Sandbox::User=root download prometheus >&2; then
	[ "$(id -u)" = 0 ] && apt-get -qq update >&2 && apt-get -qq -o APT::Sandbox::User=root download prometheus >&2 || {
		echo "Debian's package prometheus, in which promtool is, cannot be fetched here" >&2
		exit 3
	}
fi
dpkg-deb --extract prometheus_*.deb .
rm -f prometheus_*.deb
