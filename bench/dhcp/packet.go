package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// machine is who asks.
type machine struct {
	mac  [6]byte
	uuid [16]byte
}

// known is a machine that the product knows by its UUID.
func known(n int) (m machine) {
	m.mac = [6]byte{0x52, 0x54, 0, byte(n >> 16), byte(n >> 8), byte(n)}
	m.uuid = [16]byte{0: 0x5a, 6: 0x40, 8: 0x80}
	binary.BigEndian.PutUint32(m.uuid[12:], uint32(n))
	return m
}

// invented is a machine that nobody knows.
func invented(n int) (m machine) {
	m.mac = [6]byte{0x02, 0x66, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	m.uuid = [16]byte{0: 0x66, 6: 0x40, 8: 0x80}
	binary.BigEndian.PutUint32(m.uuid[12:], uint32(n))
	return m
}

// text is the UUID as people write it.
func (m machine) text() string {
	u := m.uuid
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

const (
	discover, offer, take, decline, ack = 1, 2, 3, 4, 5
	kindAt                              = 242 // of the first option, which is the type of the message
)

// packet is what OVMF sends through a relay (RFC 2131 §2, RFC 4578). at is the address that it is about, of a message that is about one.
func (m machine) packet(kind byte, id uint32, at netip.Addr) []byte {
	b := make([]byte, 240, 400)
	b[0], b[1], b[2], b[3] = 1, 1, 6, 1
	binary.BigEndian.PutUint32(b[4:], id)
	relay := netip.MustParseAddr(relayAddress).As4()
	copy(b[24:], relay[:])
	copy(b[28:], m.mac[:])
	binary.BigEndian.PutUint32(b[236:], 0x63825363)
	b = append(b, 53, 1, kind)
	if at.IsValid() {
		server := netip.MustParseAddr(serverAddress).As4()
		b = append(append(b, 54, 4), server[:]...)
		b = append(append(b, 50, 4), at.AsSlice()...)
	}
	b = append(b, "\x37\x08\x01\x03\x06\x0f\x1c\x3c\x42\x43<\x20PXEClient:Arch:00007:UNDI:003000]\x02\x00\x07"...)
	u := m.uuid
	u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7] = u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6]
	b = append(append(b, 97, 17, 0), u[:]...)
	return append(b, 255)
}
