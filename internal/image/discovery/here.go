package discovery

import (
	"os"
	"path/filepath"
)

// stubs are where Debian's package systemd-boot-efi has systemd's EFI stub; other distributions have it there as well.
var stubs = map[string]string{
	"amd64": "/usr/lib/systemd/boot/efi/linuxx64.efi.stub",
	"arm64": "/usr/lib/systemd/boot/efi/linuxaa64.efi.stub",
}

// Stub returns the EFI stub of this system for a kernel; where there is none, there is false beside its place.
func Stub(k Kernel) (file string, there bool, err error) {
	architecture, err := Architecture(k)
	if err != nil {
		return "", false, err
	}
	return stubs[architecture], isFile(stubs[architecture]), nil
}

// Agent returns the metalprobe that is installed beside this program; empty: there is none.
func Agent() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	if file := filepath.Join(filepath.Dir(own), "metalprobe"); isFile(file) {
		return file
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
