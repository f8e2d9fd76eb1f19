package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// maxSimServers is the number of BMCs that fit into the default network.
const maxSimServers = 32000

// defaultSimAdmin is where `farrier sim` listens for `farrier sim fault`: below the ports of BMCs, which count up where they have one address.
const defaultSimAdmin = "127.0.0.1:7999"

// simOptions are the flags of `farrier sim`.
type simOptions struct {
	sim.Options
	network, vendors, faultsFile, admin, bootURL, bootCAFile string
	endpointsFile, macPrefixesFile, caFile                   string
	stopWithin                                               time.Duration
}

func newSim() *cobra.Command {
	o := simOptions{Options: sim.Options{Servers: 3, Address: "0.0.0.0:8000", Scheme: "http", SystemsPerBMC: 1, Username: "admin", Password: "simulated", Seed: 1, Timing: simTiming}}
	var verbosity int
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run a simulated rack without Farrier",
		Long: `Runs a simulated rack: Redfish BMCs, each at an address of its own in 127.64.0.0/16, and machines
behind them that boot over the network.

Prints one line that begins with "ready" as soon as every BMC answers.`,
		Example: `  farrier sim --servers 10 --vendor mix --boot-url http://127.0.0.1:8082/ipxe/
  curl -u admin:simulated http://127.64.0.1:8000/redfish/v1/Systems
  farrier sim fault set --kind hang --bmcs 3,7`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Logger = newLogger(cmd.ErrOrStderr(), verbosity)
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	simFlags(cmd.Flags(), &o)
	cmd.Flags().IntVarP(&verbosity, "verbosity", "v", 0, "log level: 0 what the rack does, 1 also why, 2 everything")
	cmd.AddCommand(newSimFault())
	return cmd
}

func simFlags(f *pflag.FlagSet, o *simOptions) {
	f.IntVar(&o.Servers, "servers", o.Servers, "number of BMCs")
	f.IntVar(&o.SystemsPerBMC, "systems-per-bmc", o.SystemsPerBMC, "number of machines behind each BMC")
	f.StringVar(&o.Address, "address", o.Address, "host:port of the BMCs: with 0.0.0.0 each BMC has an address of its own in --network, otherwise a port of its own from this one on")
	f.StringVar(&o.network, "network", "127.64.0.0/16", "network, within 127.0.0.0/8, for the addresses of the BMCs")
	f.StringVar(&o.vendors, "vendor", string(sim.Standard), fmt.Sprintf("vendor whose quirks the BMCs have: %v; several, separated by commas, alternate, and %q is all of them", sim.Vendors(), sim.VendorMix))
	f.StringVar(&o.Scheme, "scheme", o.Scheme, "protocol of the BMCs: http or https")
	f.StringVar(&o.caFile, "ca-file", "", "file to write the PEM authority of the BMCs' certificates to, with --scheme https (default: none)")
	f.StringVar(&o.faultsFile, "sim-faults", "", "YAML file of the faults that the BMCs start with (docs/simulator.md) (default: none)")
	f.StringVar(&o.admin, "admin-address", defaultSimAdmin, "loopback host:port for 'farrier sim fault'; empty: none")
	f.StringVar(&o.bootURL, "boot-url", "", "URL of the iPXE script that a DHCP server would give to machines (default: none)")
	f.StringVar(&o.bootCAFile, "boot-ca-file", "", "PEM bundle of the authorities that machines trust if --boot-url is https (default: the authorities of the system)")
	f.Int64Var(&o.Seed, "seed", o.Seed, "seed of all simulated serial numbers, UUIDs and other random values")
	f.StringVar(&o.Username, "username", o.Username, "user name of the administrator of every BMC")
	f.StringVar(&o.Password, "password", o.Password, "password of that administrator")
	f.DurationVar(&o.Timing.Latency, "latency", o.Timing.Latency, "how long a BMC takes to answer a request")
	f.DurationVar(&o.Timing.POST, "post", o.Timing.POST, "how long a power-on self test takes")
	f.DurationVar(&o.Timing.BootRetry, "boot-retry", o.Timing.BootRetry, "how long the firmware waits after a failed boot before it tries its boot order again; 0: it does not try again")
	f.DurationVar(&o.Timing.Shutdown, "shutdown", o.Timing.Shutdown, "how long a graceful shutdown takes; negative: it never ends")
	f.DurationVar(&o.Timing.OSBoot, "os-boot", o.Timing.OSBoot, "how long an operating system takes to start after the last file was fetched")
	f.DurationVar(&o.Timing.ManagerReset, "manager-reset", o.Timing.ManagerReset, "how long a BMC does not answer after a reset (default 0s)")
	f.DurationVar(&o.Timing.Update, "update", o.Timing.Update, "how long a firmware update takes (default 0s)")
	f.DurationVar(&o.Timing.Erase, "erase", o.Timing.Erase, "how long a disk takes to erase itself (default 0s)")
	f.StringVar(&o.endpointsFile, "print-endpoints", "", "file to write an Endpoint manifest for each BMC to; -: standard output (default: none)")
	f.StringVar(&o.macPrefixesFile, "print-mac-prefixes", "", "file to write the matching MAC prefix database to; -: standard output (default: none)")
	o.stopWithin = 10 * time.Second
}

// complete parses flag values and reads the files that flags name.
func (o *simOptions) complete() error {
	var err error
	if o.Servers < 1 || o.Servers > maxSimServers {
		return usage.Errorf("--servers: %d is out of range 1 to %d", o.Servers, maxSimServers)
	}
	if o.Network, err = netip.ParsePrefix(o.network); err != nil {
		return usage.Errorf("--network: %w", err)
	}
	if o.Vendors, err = sim.ParseVendors(o.vendors); err != nil {
		return usage.Errorf("--vendor: %w", err)
	}
	if o.caFile != "" && o.Scheme != "https" {
		return usage.Errorf("--ca-file: needs --scheme https")
	}
	if o.faultsFile != "" {
		if o.Faults, err = fault.Load(o.faultsFile); err != nil {
			return fmt.Errorf("--sim-faults: %w", err)
		}
	}
	url := o.bootURL
	o.BootURL = func() string { return url }
	return o.trust()
}

// trust reads the authorities that the firmware of the machines trusts.
func (o *simOptions) trust() error {
	if o.bootCAFile == "" {
		return nil
	}
	bundle, err := os.ReadFile(o.bootCAFile)
	if err != nil {
		return fmt.Errorf("--boot-ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("--boot-ca-file: %s holds no PEM certificate", o.bootCAFile)
	}
	o.BootRoots = func() *x509.CertPool { return roots }
	return nil
}

func (o *simOptions) run(ctx context.Context, out io.Writer) error {
	if err := o.complete(); err != nil {
		return err
	}
	rack, err := sim.Start(ctx, o.Options)
	if err != nil {
		return err
	}
	err = o.serve(ctx, rack, out)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.stopWithin)
	defer cancel()
	return errors.Join(err, rack.Stop(stop))
}

func (o *simOptions) serve(ctx context.Context, rack *sim.Rack, out io.Writer) error {
	if err := o.write(rack, out); err != nil {
		return err
	}
	admin := ""
	if o.admin != "" {
		at, err := rack.StartAdmin(ctx, o.admin)
		if err != nil {
			return fmt.Errorf("--admin-address: %w", err)
		}
		admin = " admin=http://" + at.String()
	}
	bmcs := rack.BMCs()
	first, last := bmcs[0], bmcs[len(bmcs)-1]
	fmt.Fprintf(out, "ready sim=%d first=%s last=%s%s\n", len(bmcs), first.URL(), last.URL(), admin)
	<-ctx.Done()
	o.Logger.Info("stopping")
	return nil
}

// write writes the files that flags ask for.
func (o *simOptions) write(rack *sim.Rack, out io.Writer) error {
	for _, f := range []struct {
		flag, path string
		text       func() ([]byte, error)
	}{
		{"ca-file", o.caFile, func() ([]byte, error) { return rack.CABundle(), nil }},
		{"print-endpoints", o.endpointsFile, func() ([]byte, error) { return endpointManifests(rack.BMCs()), nil }},
		{"print-mac-prefixes", o.macPrefixesFile, func() ([]byte, error) { return macPrefixes(rack.BMCs(), o.Username, o.Password) }},
	} {
		if f.path == "" {
			continue
		}
		text, err := f.text()
		if err != nil {
			return fmt.Errorf("--%s: %w", f.flag, err)
		}
		if f.path == "-" {
			_, err = out.Write(text)
		} else {
			// Prefixes hold the password.
			err = os.WriteFile(f.path, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", f.flag, err)
		}
	}
	return nil
}
