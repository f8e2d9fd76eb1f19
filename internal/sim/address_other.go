//go:build !linux

package sim

import (
	"context"
	"errors"
	"net"
)

// ownAddresses says that a machine can talk from any address of 127.0.0.0/8.
const ownAddresses = false

// errCannotShare says that one listener cannot answer for all of loopback here.
var errCannotShare = errors.New("loopback has one address on this system")

func listenShared(context.Context, string) (net.Listener, error) {
	return nil, errCannotShare
}
