//go:build !linux

package neighbour

import (
	"errors"
	"net/netip"
)

// kernel knows no table that it could read here, so nothing is known of neighbours.
func kernel() (map[netip.Addr]string, error) {
	return nil, errors.ErrUnsupported
}
