#!/usr/bin/env bash
# Looks for what test/e2e needs beside Go, and as root on Debian installs what is
# missing. What machines boot is not installed: kernels, boot programs and
# Ignition are unpacked from their packages below bin/.
#
# Exit status 3: something is missing and cannot be had here; says what.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
unpacked=$PWD/bin/e2e

missing() {
	command -v qemu-system-x86_64 >/dev/null || echo qemu-system-x86
	[ -e /usr/lib/ipxe/qemu/efi-virtio.rom ] || echo ipxe-qemu
	[ -e /usr/share/OVMF/OVMF_CODE_4M.fd ] || echo ovmf
	[ -e /usr/lib/systemd/boot/efi/linuxx64.efi.stub ] || echo systemd-boot-efi
	command -v ip >/dev/null || echo iproute2
	command -v dnsmasq >/dev/null || echo dnsmasq-base
	command -v objcopy >/dev/null || echo binutils
	command -v openssl >/dev/null || echo openssl
	command -v swtpm >/dev/null || echo swtpm
	command -v swtpm_setup >/dev/null || echo swtpm-tools
	[ -e /lib/systemd/systemd ] || echo systemd
	command -v adduser >/dev/null || echo adduser
	command -v qemu-system-aarch64 >/dev/null || echo qemu-system-arm
	[ -e /usr/share/AAVMF/AAVMF_CODE.fd ] || echo qemu-efi-aarch64
}

kernel() {
	ls /boot/vmlinuz-*-cloud-amd64 "$unpacked"/boot/vmlinuz-*-cloud-amd64 2>/dev/null | tail -n 1
}

kernel_arm64() {
	ls "$unpacked"/arm64/boot/vmlinuz-*-cloud-arm64 2>/dev/null | tail -n 1
}

# Folder, package: those of which a file is not there.
absent() {
	[ -n "$(kernel)" ] || echo . linux-image-cloud-amd64
	[ -e "$unpacked/usr/lib/ipxe/snponly.efi" ] || echo . ipxe
	[ -e "$unpacked/usr/lib/dracut/modules.d/30ignition/ignition" ] || echo . ignition
	[ -e "$unpacked/bin/busybox" ] || echo . busybox-static
	[ -e "$unpacked/usr/bin/kubectl" ] || echo . kubernetes-client
	[ -n "$(kernel_arm64)" ] || echo arm64 linux-image-cloud-arm64
	[ -e "$unpacked/arm64/usr/lib/systemd/boot/efi/linuxaa64.efi.stub" ] || echo arm64 systemd-boot-efi
}

cannot() {
	echo "end-to-end tests need the Debian packages: $* (root and apt-get would install them)" >&2
	exit 3
}

# apt-get or apt-cache, for the architecture of a folder. Packages of another one are looked up in lists of
# their own: the machine keeps its architectures.
of() {
	local folder=$1 command=$2
	shift 2
	local lists=$unpacked/apt/$folder options=(-o APT::Sandbox::User=root)
	if [ "$folder" != . ]; then
		mkdir -p "$lists/lists/partial" "$lists/archives/partial"
		options+=(-o "APT::Architecture=$folder" -o "APT::Architectures::=$folder" -o "Dir::State::Lists=$lists/lists" -o "Dir::Cache=$lists" -o Dir::State::status=/dev/null)
	fi
	"$command" "${options[@]}" "$@"
}

# Unpacks a package; of a package that stands for the newest kernel, that kernel.
unpack() {
	local folder=$1 package=$2
	case $package in linux-image-*)
		package=$(of "$folder" apt-cache depends "$package" | awk '$1 == "Depends:" { print $2; exit }')
		;;
	esac
	mkdir -p "$unpacked/$folder"
	(cd "$unpacked/$folder" && of "$folder" apt-get -qq download "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb)
}

packages=$(missing | xargs)
files=$(absent)
[ -n "$packages$files" ] || exit 0

[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || cannot "$packages" $(awk '{ print $2 }' <<<"$files")
{
	apt-get -qq update
	# shellcheck disable=SC2086 # one word a package
	[ -z "$packages" ] || DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $packages
} >&2 || cannot "$packages"

fetched=
while read -r folder package; do
	[ -n "$package" ] || continue
	if [ "$folder" != . ] && [ "$fetched" != "$folder" ]; then
		of "$folder" apt-get -qq update >&2 || cannot "$package"
		fetched=$folder
	fi
	unpack "$folder" "$package" >&2 || cannot "$package"
done <<<"$files"
