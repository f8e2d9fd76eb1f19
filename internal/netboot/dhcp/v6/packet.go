package v6

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Messages (RFC 8415 §7.3).
const (
	solicit     = 1
	advertise   = 2
	request     = 3
	confirm     = 4
	renew       = 5
	rebind      = 6
	reply       = 7
	release     = 8
	decline     = 9
	information = 11
	relayForw   = 12
	relayRepl   = 13
)

// Options: RFC 8415 §21, RFC 3646, RFC 5970, RFC 6939.
const (
	optClientID    = 1
	optServerID    = 2
	optIANA        = 3
	optIAAddress   = 5
	optElapsed     = 8
	optRelayed     = 9
	optStatus      = 13
	optUserClass   = 15
	optVendorClass = 16
	optInterfaceID = 18
	optDNS         = 23
	optDomain      = 24
	optBootURL     = 59
	optArch        = 61
	optLinkLayer   = 79
)

// Status codes (RFC 8415 §21.13).
const (
	success      = 0
	noAddrsAvail = 2
	noBinding    = 3
	notOnLink    = 4
)

var errMalformed = errors.New("malformed packet")

type option struct {
	code uint16
	data []byte
}

type options []option

func readOptions(b []byte) (all options, err error) {
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, fmt.Errorf("%w: half an option", errMalformed)
		}
		code, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return nil, fmt.Errorf("%w: option %d is longer than the packet", errMalformed, code)
		}
		all = append(all, option{code, b[4 : 4+n]})
		b = b[4+n:]
	}
	return all, nil
}

func (o options) first(code uint16) ([]byte, bool) {
	for _, one := range o {
		if one.code == code {
			return one.data, true
		}
	}
	return nil, false
}

func appendOption(b []byte, code uint16, data ...byte) []byte {
	b = binary.BigEndian.AppendUint16(b, code)
	b = binary.BigEndian.AppendUint16(b, uint16(len(data)))
	return append(b, data...)
}

// relay is a relay agent that a message has come through (RFC 8415 §9).
type relay struct {
	hops        byte
	link, peer  netip.Addr
	interfaceID []byte
	hasID       bool
	mac         []byte // option 79; nil: it does not say
}

// message is what a client sent, and the relays that it came through, that of the client last.
type message struct {
	kind    byte
	xid     [3]byte
	options options
	relays  []relay
}

// maxRelays is HOP_COUNT_LIMIT (RFC 8415 §7.6).
const maxRelays = 8

func readMessage(b []byte) (m message, err error) {
	for len(b) > 0 && b[0] == relayForw {
		const header = 2 + 16 + 16
		if len(b) < header || len(m.relays) == maxRelays {
			return m, fmt.Errorf("%w: relayed too often, or cut off", errMalformed)
		}
		r := relay{hops: b[1], link: netip.AddrFrom16([16]byte(b[2:18])), peer: netip.AddrFrom16([16]byte(b[18:34]))}
		inside, err := readOptions(b[header:])
		if err != nil {
			return m, err
		}
		r.interfaceID, r.hasID = inside.first(optInterfaceID)
		if ll, has := inside.first(optLinkLayer); has && len(ll) == 2+6 && binary.BigEndian.Uint16(ll) == ethernet {
			r.mac = ll[2:]
		}
		m.relays = append(m.relays, r)
		if b, _ = inside.first(optRelayed); len(b) == 0 {
			return m, fmt.Errorf("%w: a relay with nothing in it", errMalformed)
		}
	}
	if len(b) < 4 {
		return m, fmt.Errorf("%w: %d octets", errMalformed, len(b))
	}
	m.kind, m.xid = b[0], [3]byte(b[1:4])
	m.options, err = readOptions(b[4:])
	return m, err
}

// wrap puts an answer into the envelopes of the relays that the message came through (RFC 8415 §19.3).
func (m message) wrap(answer []byte) []byte {
	for i := len(m.relays) - 1; i >= 0; i-- {
		r := m.relays[i]
		link, peer := r.link.As16(), r.peer.As16()
		b := append([]byte{relayRepl, r.hops}, link[:]...)
		b = append(b, peer[:]...)
		if r.hasID {
			b = appendOption(b, optInterfaceID, r.interfaceID...)
		}
		answer = appendOption(b, optRelayed, answer...)
	}
	return answer
}

// association is an IA_NA (RFC 8415 §21.4): a request for an address.
type association struct {
	id    [4]byte
	addrs []netip.Addr
}

// maxAssociations is how many of a message are answered; a client needs one for each interface.
const maxAssociations = 4

func (o options) associations() (all []association, err error) {
	for _, one := range o {
		if one.code != optIANA || len(all) == maxAssociations {
			continue
		}
		if len(one.data) < 12 {
			return nil, fmt.Errorf("%w: an IA_NA of %d octets", errMalformed, len(one.data))
		}
		a := association{id: [4]byte(one.data[:4])}
		inside, err := readOptions(one.data[12:])
		if err != nil {
			return nil, err
		}
		for _, address := range inside {
			if address.code == optIAAddress && len(address.data) >= 24 {
				a.addrs = append(a.addrs, netip.AddrFrom16([16]byte(address.data[:16])))
			}
		}
		all = append(all, a)
	}
	return all, nil
}
