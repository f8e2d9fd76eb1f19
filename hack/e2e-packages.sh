#!/usr/bin/env bash
# Looks for what test/e2e needs beside Go, and as root on Debian installs what is
# missing. A kernel is not installed: its package is unpacked below bin/.
#
# Exit status 3: something is missing and cannot be had here; says what.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
unpacked=bin/e2e

missing() {
	command -v qemu-system-x86_64 >/dev/null || echo qemu-system-x86
	[ -e /usr/lib/ipxe/qemu/efi-virtio.rom ] || echo ipxe-qemu
	[ -e /usr/share/OVMF/OVMF_CODE_4M.fd ] || echo ovmf
	[ -e /usr/lib/systemd/boot/efi/linuxx64.efi.stub ] || echo systemd-boot-efi
	command -v ip >/dev/null || echo iproute2
	command -v dnsmasq >/dev/null || echo dnsmasq-base
	command -v objcopy >/dev/null || echo binutils
	command -v openssl >/dev/null || echo openssl
}

kernel() {
	ls /boot/vmlinuz-*-cloud-amd64 "$unpacked"/boot/vmlinuz-*-cloud-amd64 2>/dev/null | tail -n 1
}

cannot() {
	echo "end-to-end tests need the Debian packages: $* (root and apt-get would install them)" >&2
	exit 3
}

packages=$(missing | tr '\n' ' ')
[ -n "$(kernel)" ] || packages+=linux-image-cloud-amd64
[ -n "${packages// /}" ] || exit 0

[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || cannot "$packages"
{
	apt-get -qq update
	# shellcheck disable=SC2046 # one word a package
	DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $(missing)
} >&2 || cannot "$packages"

if [ -z "$(kernel)" ]; then
	image=$(apt-cache depends linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')
	mkdir -p "$unpacked"
	(cd "$unpacked" && apt-get -qq download "$image" && dpkg-deb -x "$image"_*.deb . && rm "$image"_*.deb) >&2 || cannot linux-image-cloud-amd64
fi
