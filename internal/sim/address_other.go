//go:build !linux

package sim

import (
	"context"
	"errors"
	"net"
)

// errCannotShare says that one listener cannot answer for all of loopback here.
var errCannotShare = errors.New("loopback has one address on this system")

func listenShared(context.Context, string) (net.Listener, error) {
	return nil, errCannotShare
}
