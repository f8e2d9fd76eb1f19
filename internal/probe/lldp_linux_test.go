package probe

import (
	"context"
	"encoding/binary"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestPacketSocket sends a frame over the loopback device and hears it.
func TestPacketSocket(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip(err)
	}
	source, err := openPackets()
	if err != nil {
		t.Skip(err)
	}
	if err := source.Join(lo.Index); err != nil {
		t.Skip(err)
	}
	_ = source.Close()
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	protocol := binary.NativeEndian.Uint16([]byte{0x88, 0xcc})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	sent := func() map[int]linkState {
		// At each look, for a frame that is sent before the socket listens is lost.
		if err := syscall.Sendto(fd, frameOf(t, golden), 0, &syscall.SockaddrLinklayer{Protocol: protocol, Ifindex: lo.Index, Halen: 6}); err != nil {
			t.Skip(err)
		}
		return map[int]linkState{lo.Index: {"lo", true}}
	}
	got := (&Listener{Duration: 10 * time.Second, Interval: 100 * time.Millisecond}).Hear(ctx, sent)
	if len(got) != 1 || got[0].Name != "lo" || got[0].Neighbors[0].SystemName != "leaf-1" {
		t.Errorf("heard %+v", got)
	}
}
