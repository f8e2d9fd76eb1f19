//go:build !linux

package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
)

// supported reports why this operating system cannot have virtual machines.
func supported() error { return fmt.Errorf("works on Linux, not on %s", runtime.GOOS) }

type network struct{}

func openNetwork(netip.Prefix, int) (*network, error) { return nil, errors.ErrUnsupported }

func (*network) close() error { return nil }

type process struct{ monitor net.Conn }

func (*Machine) launch(context.Context, plan, string, io.Writer) (*process, error) {
	return nil, errors.ErrUnsupported
}

func (*process) wait() error { return errors.ErrUnsupported }

func (*process) died(_ context.Context, err error) error { return err }
