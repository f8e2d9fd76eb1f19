//go:build linux

package pid1

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The kernel tells of ACPI events over generic netlink (drivers/acpi/event.c).
const (
	acpiFamily, acpiGroup = "acpi_event", "acpi_mc_group"
	acpiAttrEvent         = 1
	// powerButton is the class of the device, at the beginning of an event.
	powerButton  = "button/power"
	genlHeader   = 4
	maxACPIEvent = 8 << 10
)

// awaitPowerButton returns once the machine's power button has been pressed: by a person, or by its BMC, which asks for a graceful shutdown that way. A machine
// that does not go off then is forced off minutes later.
func awaitPowerButton(ctx context.Context) error {
	family, err := netlink.GenlFamilyGet(acpiFamily)
	if err != nil {
		return fmt.Errorf("netlink family %s: %w", acpiFamily, err)
	}
	group := -1
	for _, g := range family.Groups {
		if g.Name == acpiGroup {
			group = int(g.ID)
		}
	}
	if group < 0 {
		return fmt.Errorf("netlink family %s has no group %s", acpiFamily, acpiGroup)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}), unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group)); err != nil {
		return err
	}
	buf := make([]byte, maxACPIEvent)
	for ctx.Err() == nil {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOBUFS):
		case err != nil:
			return err
		case pressed(buf[:n]):
			return nil
		}
	}
	return ctx.Err()
}

// pressed reports whether a packet tells that the power button has been pressed.
func pressed(packet []byte) bool {
	messages, err := syscall.ParseNetlinkMessage(packet)
	if err != nil {
		return false
	}
	for _, m := range messages {
		for rest := m.Data[min(genlHeader, len(m.Data)):]; len(rest) >= unix.SizeofNlAttr; {
			length, kind := int(binary.NativeEndian.Uint16(rest)), binary.NativeEndian.Uint16(rest[2:])
			if length < unix.SizeofNlAttr || length > len(rest) {
				break
			}
			class, _, _ := bytes.Cut(rest[unix.SizeofNlAttr:length], []byte{0})
			if kind == acpiAttrEvent && string(class) == powerButton {
				return true
			}
			rest = rest[min((length+3)&^3, len(rest)):]
		}
	}
	return false
}
