package e2e

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// neighbor is the switch that the machines of these tests are told of.
var neighbor = inspection.Neighbor{
	ChassisID: "02:00:5e:00:53:01", PortID: "Ethernet7", PortDescription: "rack 3, unit 12", SystemName: "leaf-3.example", SystemDescription: "a switch of a test",
	ManagementIP: "192.0.2.250", Capabilities: []string{"Bridge", "Router"}, VLANID: "42",
}

// lldpFrame is what that switch sends (IEEE 802.1AB-2016 §8).
func lldpFrame() []byte {
	chassis, err := net.ParseMAC(neighbor.ChassisID)
	if err != nil {
		panic(err) // a constant
	}
	frame := append([]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}, chassis...) // to the nearest bridge (§7.1)
	frame = append(frame, 0x88, 0xcc)
	add := func(kind int, value ...byte) {
		frame = append(binary.BigEndian.AppendUint16(frame, uint16(kind<<9|len(value))), value...)
	}
	add(1, append([]byte{4}, chassis...)...)
	add(2, append([]byte{5}, neighbor.PortID...)...)
	add(3, 0, 120)
	add(4, []byte(neighbor.PortDescription)...)
	add(5, []byte(neighbor.SystemName)...)
	add(6, []byte(neighbor.SystemDescription)...)
	add(7, 0, 1<<2|1<<4, 0, 1<<2|1<<4)
	add(8, 5, 1, 192, 0, 2, 250, 2, 0, 0, 0, 7, 0) // the address, then interface 7 and no object identifier
	add(127, 0x00, 0x80, 0xc2, 1, 0, 42)
	add(0)
	return frame
}

// tellOfNeighbor sends that frame to the machine behind an interface, each second until the test ends. A bridge passes no such frame on (IEEE 802.1Q §8.6.3), so it is
// sent on the machine's own interface.
func tellOfNeighbor(t *testing.T, name string) {
	t.Helper()
	card, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(ended)
		<-done
		_ = unix.Close(fd)
	})
	go func() {
		defer close(done)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			_ = unix.Sendto(fd, lldpFrame(), 0, &unix.SockaddrLinklayer{Ifindex: card.Index}) // while no machine is there the link is down
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
}
