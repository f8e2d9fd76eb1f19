package setup

import (
	"fmt"
	"syscall"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/inbound"
)

// fewDescriptors is how many files a process should be able to open at least to let a rack of a thousand machines boot at once.
const fewDescriptors = 16384

// Pace is how fast machines may come over TLS.
func (s *Settings) Pace() inbound.Pace {
	return inbound.Pace{PerSecond: s.o.BootTLSRateLimit, Burst: handshakesAtOnce * s.o.BootTLSRateLimit}
}

// checkConnections shares out the connections that this process can hold. Go has raised its soft limit to the hard one (package os).
func (s *Settings) checkConnections() error {
	if s.o.MaxConnections < 0 {
		return fmt.Errorf("--max-connections: %d is negative", s.o.MaxConnections)
	}
	if s.o.MaxConnectionsPerAddress < 0 {
		return fmt.Errorf("--max-connections-per-address: %d is negative", s.o.MaxConnectionsPerAddress)
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	s.Descriptors = uint64(files.Cur) //nolint:unconvert // signed on FreeBSD
	var err error
	s.Shares, err = inbound.Derive(s.Descriptors, s.o.MaxConnections, s.o.MaxConnectionsPerAddress)
	return err
}

// LogConnections says which limits there are.
func (s *Settings) LogConnections(logger logr.Logger) {
	shares := s.Shares
	logger.V(1).Info("connection limits set", "openFiles", s.Descriptors, "machines", shares.Machines, "bmcs", shares.BMCs, "operators", shares.Operators)
	if s.Descriptors < fewDescriptors {
		logger.V(1).Info("open-file limit is low (ulimit -n, LimitNOFILE=), which limits connections", "openFiles", s.Descriptors,
			"total", shares.Machines.Total, "perAddress", shares.Machines.PerAddress)
	}
}
