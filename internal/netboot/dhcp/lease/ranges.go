package lease

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// MaxAddresses bounds what one range can lease, and by that memory and the file.
const MaxAddresses = 1 << 16

// Range is a row of addresses in a subnet.
type Range struct {
	First, Last netip.Addr
	Subnet      netip.Prefix
}

func (r Range) String() string { return fmt.Sprintf("%s-%s/%d", r.First, r.Last, r.Subnet.Bits()) }

// Contains reports whether a is of the range.
func (r Range) Contains(a netip.Addr) bool {
	return a.BitLen() == r.First.BitLen() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// size is the number of addresses, at most MaxAddresses.
func (r Range) size() int {
	n := 0
	for a := r.First; n < MaxAddresses && a.IsValid() && a.Compare(r.Last) <= 0; a = a.Next() {
		n++
	}
	return n
}

// ParseRange reads FIRST-LAST or FIRST-LAST/BITS. Without BITS, the subnet is the one of those given that contains it.
func ParseRange(text string, subnets []netip.Prefix) (Range, error) {
	row, bits, hasBits := strings.Cut(text, "/")
	first, last, _ := strings.Cut(row, "-")
	r := Range{}
	var err error
	if r.First, err = netip.ParseAddr(strings.TrimSpace(first)); err == nil {
		r.Last, err = netip.ParseAddr(strings.TrimSpace(last))
	}
	switch {
	case err != nil:
		return Range{}, fmt.Errorf("range %q: want FIRST-LAST or FIRST-LAST/BITS: %w", text, err)
	case r.First.Zone() != "" || r.First.BitLen() != r.Last.BitLen() || r.First.Is4In6() || r.Last.Less(r.First):
		return Range{}, fmt.Errorf("range %q: want two addresses of one family, the lower one first", text)
	}
	if hasBits {
		r.Subnet, err = netip.ParsePrefix(r.First.String() + "/" + bits)
		if err != nil {
			return Range{}, fmt.Errorf("range %q: %w", text, err)
		}
	} else if r.Subnet, err = containing(r.First, subnets); err != nil {
		return Range{}, fmt.Errorf("range %q: %w", text, err)
	}
	r.Subnet = r.Subnet.Masked()
	return r, r.check()
}

func containing(a netip.Addr, subnets []netip.Prefix) (netip.Prefix, error) {
	for _, s := range subnets {
		if s.Contains(a) {
			return s, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("no interface has a subnet with %s; a range behind a relay needs /BITS", a)
}

func (r Range) check() error {
	switch {
	case !r.Subnet.Contains(r.First) || !r.Subnet.Contains(r.Last):
		return fmt.Errorf("range %s is not within its subnet %s", r, r.Subnet)
	case r.First.IsMulticast() || r.First.IsLoopback() || r.First.IsUnspecified() || r.First.IsLinkLocalUnicast():
		return fmt.Errorf("range %s: no host has such an address", r)
	case r.First.Is4() && r.Subnet.Bits() <= 30 && (r.Contains(r.Subnet.Addr()) || r.Contains(Broadcast(r.Subnet))):
		return fmt.Errorf("range %s contains the network or broadcast address of %s", r, r.Subnet)
	case r.First.Is6() && r.Contains(r.Subnet.Addr()):
		return fmt.Errorf("range %s contains the anycast address of the routers of %s (RFC 4291 §2.6.1)", r, r.Subnet)
	}
	return nil
}

// Broadcast is the last address of an IPv4 subnet.
func Broadcast(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		a[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(a)
}

// CheckRanges refuses ranges that overlap, that contain one of the addresses in use, or whose subnets overlap without being the same.
func CheckRanges(ranges []Range, inUse []netip.Addr) error {
	var errs []error
	for i, r := range ranges {
		for _, a := range inUse {
			if r.Contains(a) {
				errs = append(errs, fmt.Errorf("range %s contains %s, which is in use", r, a))
			}
		}
		for _, o := range ranges[:i] {
			switch {
			case o.Contains(r.First) || r.Contains(o.First):
				errs = append(errs, fmt.Errorf("ranges %s and %s overlap", o, r))
			case o.Subnet != r.Subnet && o.Subnet.Overlaps(r.Subnet):
				errs = append(errs, fmt.Errorf("ranges %s and %s: their subnets overlap", o, r))
			}
		}
	}
	return errors.Join(errs...)
}
