//go:build linux

package pid1

import (
	"encoding/binary"
	"slices"
	"testing"
)

// acpiEvent is a message of the kernel about an ACPI event (drivers/acpi/event.c), in a packet of generic netlink.
func acpiEvent(attribute uint16, class string) []byte {
	event := make([]byte, 20+15+1+8) // class and name of the device, type, data
	copy(event, class)
	copy(event[20:], "LNXPWRBN:00")
	le := binary.NativeEndian
	body := le.AppendUint16([]byte{1, 1, 0, 0}, uint16(4+len(event)))
	body = append(le.AppendUint16(body, attribute), event...)
	packet := le.AppendUint32(nil, uint32(16+len(body)))
	packet = le.AppendUint16(packet, 0x17) // the family
	packet = append(packet, make([]byte, 10)...)
	return append(packet, body...)
}

func TestPressed(t *testing.T) {
	power := acpiEvent(1, "button/power")
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{
		"power button":           {power, true},
		"behind another message": {slices.Concat(acpiEvent(1, "ac_adapter"), power), true},
		"lid":                    {acpiEvent(1, "button/lid"), false},
		"another attribute":      {acpiEvent(2, "button/power"), false},
		"nothing":                {nil, false},
	} {
		if got := pressed(c.packet); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for n := range power {
		if pressed(power[:n]) {
			t.Errorf("%d octets of %d are taken for the power button", n, len(power))
		}
	}
}
