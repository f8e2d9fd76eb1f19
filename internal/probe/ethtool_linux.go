package probe

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"unsafe"
)

const ioctlEthtool = 0x8946 // SIOCETHTOOL

// readEthtool asks the driver of a link. A driver that cannot tell leaves things empty.
func readEthtool(link string) ethtoolInfo {
	var info ethtoolInfo
	if len(link) >= syscall.IFNAMSIZ {
		return info
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return info
	}
	defer func() { _ = syscall.Close(fd) }()

	driver := make([]byte, driverInfoBytes)
	binary.NativeEndian.PutUint32(driver, ethtoolDriverInfo)
	if ethtool(fd, link, driver) {
		info.firmware = parseFirmware(driver)
	}
	// The first call tells, negated, how many words the masks have.
	settings := make([]byte, linkSettingsHeader+linkSettingsMasksBytes)
	binary.NativeEndian.PutUint32(settings, ethtoolLinkSettings)
	if !ethtool(fd, link, settings) {
		return info
	}
	words := -int8(settings[linkSettingsWords])
	if words <= 0 || words > maxLinkModeWords {
		return info
	}
	clear(settings)
	binary.NativeEndian.PutUint32(settings, ethtoolLinkSettings)
	settings[linkSettingsWords] = byte(words)
	if ethtool(fd, link, settings) {
		info.linkModes, info.ports = parseSupported(settings)
	}
	return info
}

// ethtool is an ioctl with struct ifreq, whose data points to the request.
func ethtool(fd int, link string, request []byte) bool {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&request[0])
	var ifreq struct {
		name [syscall.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(ifreq.name[:], link)
	ifreq.data = unsafe.Pointer(&request[0])
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), ioctlEthtool, uintptr(unsafe.Pointer(&ifreq)))
	return errno == 0
}
