package standalone

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

// TestWhatIsInUse: a data directory is named first and alone, since its owner has the ports too; otherwise all ports are named at once.
func TestWhatIsInUse(t *testing.T) {
	taken := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	o := DefaultOptions()
	o.DataDir, o.Sim = t.TempDir(), 1
	o.APIAddress, o.BootAddress, o.OperatorAddress, o.SimAddress, o.RegistryAddress = taken(), taken(), "127.0.0.1:0", taken(), ""
	_, port, err := net.SplitHostPort(o.SimAddress)
	if err != nil {
		t.Fatal(err)
	}
	o.SimAddress = "0.0.0.0:" + port
	err = o.checkPlaces()
	if !errors.Is(err, ErrPortsInUse) {
		t.Fatalf("%v, want that ports are in use", err)
	}
	for _, want := range []string{"--api-address: " + o.APIAddress, "--boot-address: " + o.BootAddress, "--sim-address: " + o.SimAddress} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n := strings.Count(err.Error(), "in use"); n != 3 {
		t.Errorf("%d addresses are named: %v", n, err)
	}
	dir, err := datadir.Lock(o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	if err := o.checkPlaces(); !errors.Is(err, datadir.ErrInUse) || strings.Contains(err.Error(), "address") {
		t.Errorf("%v, want the data directory alone", err)
	}
}
