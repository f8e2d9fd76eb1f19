package probe

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// lldpAddresses are the groups that LLDP is sent to: nearest bridge, nearest non-TPMR bridge,
// nearest customer bridge (IEEE 802.1AB §7.1).
var lldpAddresses = [][6]byte{{0x01, 0x80, 0xc2, 0, 0, 0x0e}, {0x01, 0x80, 0xc2, 0, 0, 0x03}, {0x01, 0x80, 0xc2, 0, 0, 0x00}}

const (
	solPacket           = 263
	packetAddMembership = 1
	packetMulticast     = 0
	packetReadMillis    = 250
)

// packetRequest is struct packet_mreq of packet(7).
type packetRequest struct {
	link    int32
	kind    uint16
	length  uint16
	address [8]byte
}

// packets is one packet socket for all links.
type packets int

func openPackets() (frames, error) {
	protocol := int(binary.NativeEndian.Uint16([]byte{etherTypeLLDP >> 8, etherTypeLLDP & 0xff}))
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	wait := syscall.NsecToTimeval(packetReadMillis * 1e6)
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait); err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("setsockopt", err)
	}
	return packets(fd), nil
}

// Join ends by itself when the socket is closed.
func (p packets) Join(link int) error {
	for _, address := range lldpAddresses {
		r := packetRequest{link: int32(link), kind: packetMulticast, length: uint16(len(address))}
		copy(r.address[:], address[:])
		_, _, errno := syscall.Syscall6(syscall.SYS_SETSOCKOPT, uintptr(p), solPacket, packetAddMembership,
			uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r), 0)
		if errno != 0 {
			return os.NewSyscallError("setsockopt", errno)
		}
	}
	return nil
}

func (p packets) Read(buf []byte) (n, link int, err error) {
	n, from, err := syscall.Recvfrom(int(p), buf, 0)
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ENETDOWN):
		return 0, 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, 0, os.NewSyscallError("recvfrom", err)
	}
	if ll, ok := from.(*syscall.SockaddrLinklayer); ok {
		link = ll.Ifindex
	}
	return n, link, nil
}

func (p packets) Close() error { return syscall.Close(int(p)) }
