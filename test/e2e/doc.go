// Package e2e boots real firmware from the built product: QEMU machines, emulated in software, with the
// BIOS iPXE of QEMU's network card, the same as an EFI driver under OVMF, and OVMF's own UEFI HTTP boot.
//
// Machines are on QEMU's user network (10.0.2.0/24), whose DHCP server names the URL to boot from and which
// leads 10.0.2.2 to this machine's loopback. So neither root nor a bridge is needed.
//
// Over https that DHCP server names no URL which firmware would take. There the firmware has the URL as a boot option of its own,
// and the authority that it trusts beside it, in its variables (nvram_test.go), as a BMC sets them. Debian's iPXE knows no https.
//
// What they boot is a real kernel with an initramfs that holds one program, guest/: it says over the serial
// line who it is and what it was given, fetches its ignition as Ignition would, and switches the machine off.
//
// Discovery boots the image that Farrier builds, for a machine whose BMC is simulated; with Secure Boot it is signed with the key of the package ovmf.
//
// Where the product itself answers DHCP, machines are on a bridge in a network namespace, behind a switch that speaks LLDP: BIOS and UEFI with a TPM of swtpm (TestInspection), ARM64,
// IPv6 alone, and beside dnsmasq as the server that leases. Debian's Ignition applies what our script names. What these boot is unpacked from packages below bin/e2e.
//
// DHCP and TFTP alone have a bridge in a network namespace of their own, for which the tests need root. There a simulated BMC that takes an address becomes a Server, and
// other DHCP servers are found; neither needs QEMU.
//
// Virtual machines of the product itself (--sim-vm) are in a network namespace, too. There the product switches them on and off, through the simulated BMCs in front of them.
//
// The commands of docs/first-rack.md run on a host of its own (testdata/first-rack/host.sh): namespaces, an overlay of this file system, and systemd.
//
// So does the Debian package, which is installed, upgraded and removed there (TestPackage).
//
// The tests run where FARRIER_E2E is set, which `make e2e` does after looking for what they need. It ends with the seconds that each machine took, and keeps serial line and packets
// of machines whose tests have failed.
package e2e
