package dhcp

// Programs lists the boot programs for an architecture, the best first, as paths in the directory of boot files: <arch>/<file>, and the names that
// Debian's package ipxe and builds of iPXE have. The boot program drives the network card through the firmware (undionly, snponly) rather than by a
// driver of its own: the firmware has just shown that it can.
func Programs(a Arch) []string {
	switch archs[a] {
	case "bios":
		return []string{"bios/undionly.kpxe", "undionly.kpxe"}
	case "x86_64":
		return []string{"x86_64/snponly.efi", "x86_64/ipxe.efi", "snponly.efi", "ipxe.efi"}
	case "i386":
		return []string{"i386/snponly.efi", "i386/ipxe.efi"}
	case "arm32":
		return []string{"arm32/snponly.efi", "arm32/ipxe.efi"}
	case "arm64":
		return []string{"arm64/snponly.efi", "arm64/ipxe.efi", "snponly-arm64.efi", "ipxe-arm64.efi"}
	case "riscv64":
		return []string{"riscv64/snponly.efi", "riscv64/ipxe.efi"}
	}
	return nil
}
