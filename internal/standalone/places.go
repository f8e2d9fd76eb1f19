package standalone

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

// ErrPortsInUse is wrapped by the error that names the addresses at which other programs listen.
var ErrPortsInUse = errors.New("address already in use by another program")

// checkPlaces refuses what another process has, before anything is started: first the data directory, which a `farrier up` has that runs
// already, and then all addresses at once.
func (o Options) checkPlaces() error {
	if dir, err := datadir.Lock(o.DataDir); errors.Is(err, datadir.ErrInUse) {
		return fmt.Errorf("%w: is 'farrier up' running already?", err)
	} else if err == nil {
		if err := dir.Close(); err != nil {
			return err
		}
	}
	var taken []error
	for _, place := range o.places() {
		if inUse(place.address) {
			taken = append(taken, fmt.Errorf("--%s: %s: %w", place.flag, place.address, ErrPortsInUse))
		}
	}
	return errors.Join(taken...)
}

// place is an address that a flag names.
type place struct{ flag, address string }

// places are the addresses where a system listens over TCP.
func (o Options) places() []place {
	all := []place{
		{"api-address", o.APIAddress}, {"boot-address", o.BootAddress}, {"boot-tls-address", o.BootTLSAddress}, {"operator-address", o.OperatorAddress},
		{"metrics-address", o.MetricsAddress}, {"health-address", o.HealthAddress}, {"pprof-address", o.PprofAddress},
		{"boot-stream-address", o.BootStreamAddress}, {"boot-stream-join-address", o.BootStreamJoinAddress}, {"bmc-events-address", o.BMCEventsAddress}, {"firmware-address", o.FirmwareAddress},
		{"registry-address", o.RegistryAddress},
	}
	if o.Sim > 0 {
		all = append(all, place{"sim-address", o.SimAddress}, place{"sim-admin-address", o.SimAdminAddress})
	}
	return all
}

// inUse reports whether somebody listens at an address. Of all addresses of a host one of the loopback device tells, where simulated BMCs are.
// What else is wrong with an address is found out by who listens there.
func inUse(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return false
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); host == "" || err == nil && ip.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		_ = listener.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}
