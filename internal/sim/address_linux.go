package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ownAddresses says that a machine can talk from any address of 127.0.0.0/8.
const ownAddresses = true

// errCannotShare says that one listener cannot answer for all of loopback here.
var errCannotShare = errors.New("listener cannot be bound to the loopback device")

// listenShared listens on every address of the loopback device, and on none of
// any other: a rack is not for the network that the host is on.
func listenShared(ctx context.Context, address string) (net.Listener, error) {
	device, err := loopbackDevice()
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var bindErr error
		err := conn.Control(func(fd uintptr) {
			bindErr = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, device)
		})
		if err = errors.Join(err, bindErr); err != nil {
			return fmt.Errorf("%w: %w", errCannotShare, err)
		}
		return nil
	}}
	return config.Listen(ctx, "tcp4", address)
}

func loopbackDevice() (string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCannotShare, err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name, nil
		}
	}
	return "", fmt.Errorf("%w: there is none", errCannotShare)
}
