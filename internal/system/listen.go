package system

import (
	"errors"
	"fmt"
	"net"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
)

// listen opens a listener now, and tells under which URL it is reached. With leader election it is opened
// later: two processes of one host take turns at an address, and what is not served yet must not
// accept connections.
func (s *System) listen(flag, address string, secure bool) (net.Listener, string, error) {
	if !s.settings.LeaderElection {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, "", fmt.Errorf("--%s: %w", flag, err)
		}
		return listener, setup.DeriveURL(listener.Addr(), s.settings.Loopback, secure), nil
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err == nil && at.Port == 0 {
		err = errors.New("port 0 cannot be known before it is this process's turn")
	}
	if err != nil {
		return nil, "", fmt.Errorf("--%s: %w", flag, err)
	}
	return nil, setup.DeriveURL(at, s.settings.Loopback, secure), nil
}

// opened is the listener that listen opened, or one that is opened now.
func opened(listener net.Listener, flag, address string) (net.Listener, error) {
	if listener != nil {
		return listener, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return listener, nil
}

// openedForTerm is opened for what listens in each term anew: the first takes what listen opened, and the end of a term closes it. Each later one gets the
// same port, which a URL that others know has in it.
func (s *System) openedForTerm(listener net.Listener, flag, address string) (net.Listener, error) {
	if listener == nil {
		return opened(nil, flag, address)
	}
	if _, taken := s.taken.LoadOrStore(flag, true); !taken {
		return listener, nil
	}
	return opened(nil, flag, listener.Addr().String())
}
