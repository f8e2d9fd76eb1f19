package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/cli/console"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/system"
)

// simTiming is how long simulated machines take in `farrier up`: long enough to watch.
var simTiming = sim.Timing{POST: 3 * time.Second, Shutdown: 2 * time.Second, OSBoot: 2 * time.Second, Latency: 5 * time.Millisecond}

func newUp() *cobra.Command {
	options := system.DefaultOptions()
	var verbosity int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole of Farrier in this process",
		Long: `Runs the whole of Farrier in one process: a Kubernetes API with its store, the controllers,
the boot server, and with --sim a simulated rack. State is kept in the data directory.

One line that begins with "ready" is printed when everything answers.`,
		Example: `  farrier up --sim 3
  kubectl --kubeconfig /var/lib/farrier/kubeconfig get servers`,
		Args: func(cmd *cobra.Command, args []string) error { return wrapUsage(cobra.NoArgs(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Logger = newLogger(cmd.ErrOrStderr(), verbosity)
			options.SimTiming = simTiming
			if options.Sim > 0 && !cmd.Flags().Changed("bmc-fast-poll") {
				options.BMCFastPoll = time.Second
			}
			return up(cmd.Context(), cmd.OutOrStdout(), options)
		},
	}
	cmd.Flags().SortFlags = false
	upFlags(cmd.Flags(), &options)
	cmd.Flags().IntVarP(&verbosity, "verbosity", "v", 0, "how much to log: 0 what happens, 1 why, 2 everything")
	return cmd
}

// up runs until it is told to stop, or a part of it fails.
func up(ctx context.Context, out io.Writer, options system.Options) error {
	s, err := system.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ready api=%s kubeconfig=%s boot=%s", s.APIURL, s.Kubeconfig, s.BootURL)
	if s.Rack != nil {
		fmt.Fprintf(out, " registry=%s sim=%d", s.Registry.Address(), len(s.Rack.BMCs()))
	}
	if s.BMCEventsURL != "" {
		fmt.Fprintf(out, " events=%s", s.BMCEventsURL)
	}
	fmt.Fprintln(out)
	select {
	case <-ctx.Done():
		options.Logger.Info("Stopping")
		return s.Stop()
	case err := <-s.Failed():
		_ = s.Stop()
		return err
	case <-s.Done():
		_ = s.Stop()
		return fmt.Errorf("the API has ended")
	}
}

// upFlags binds every option. Names of the operators that Farrier replaces are kept.
func upFlags(f *pflag.FlagSet, o *system.Options) {
	f.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for everything that is kept")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "where to write the kubeconfig (default: in the data directory)")
	f.StringVar(&o.APIAddress, "api-address", o.APIAddress, "address of the Kubernetes API; port 0 means any free one")
	f.StringVar(&o.BootAddress, "boot-address", o.BootAddress, "address of the boot server")
	f.StringVar(&o.MetricsAddress, "metrics-address", "", "address to serve metrics on (default: none)")
	f.StringVar(&o.BootURL, "boot-url", "", "base URL under which machines reach the boot server (default: from its address)")
	f.StringVar(&o.BootURL, "ipxe-service-url", "", "another name of --boot-url")
	f.StringVar(&o.ManagerNamespace, "manager-namespace", o.ManagerNamespace, "namespace for what Farrier keeps for itself")
	f.StringVar(&o.MACPrefixesFile, "mac-prefixes-file", "", "MAC prefix database, YAML")
	f.StringVar(&o.ProbeImage, "probe-os-image", "", "OCI image that is booted to look at a server from inside")
	f.StringVar(&o.DiscoveryIgnitionPath, "discovery-ignition-path", "", "Butane template for the probe image (default: built in)")
	f.DurationVar(&o.DiscoveryTimeout, "discovery-timeout", o.DiscoveryTimeout, "how long a probe may take to report")
	f.IntVar(&o.DiscoveryRetries, "discovery-retries", o.DiscoveryRetries, "how often discovery is tried again before a person is needed")
	f.DurationVar(&o.PowerOffBudget, "power-off-budget", o.PowerOffBudget, "how long an operating system may take to shut down")
	f.BoolVar(&o.EnforcePowerOff, "enforce-power-off", o.EnforcePowerOff, "force a released machine off when its budget is spent")
	f.DurationVar(&o.BMCPollInterval, "bmc-poll-interval", o.BMCPollInterval, "how often an idle BMC is asked")
	f.DurationVar(&o.BMCFastPoll, "bmc-fast-poll", o.BMCFastPoll, "how often a BMC is asked at first while a change of power is awaited")
	f.DurationVar(&o.BMCRequestTimeout, "bmc-request-timeout", o.BMCRequestTimeout, "deadline of a request to a BMC")
	f.DurationVar(&o.BMCFailureResetDelay, "bmc-failure-reset-delay", 0, "how long a BMC may fail before it is restarted, over SSH where its make can (default 0: never)")
	f.StringVar(&o.BMCEventsAddress, "bmc-events-address", "", "address that BMCs send events to; port 0 means any free one (default: none, BMCs are polled only)")
	f.StringVar(&o.BMCEventsURL, "bmc-events-url", "", "base URL under which BMCs reach that address (default: from the address)")
	f.StringVar(&o.BMCEventsCertFile, "bmc-events-cert-file", "", "PEM certificate for that address: it speaks TLS (default: plain HTTP)")
	f.StringVar(&o.BMCEventsKeyFile, "bmc-events-key-file", "", "PEM key of the certificate")
	f.BoolVar(&o.InsecureSkipBMCVerify, "insecure-skip-bmc-verify", false, "do not verify the certificates of BMCs")
	f.StringVar(&o.BMCCAFile, "bmc-ca-file", "", "PEM bundle of the authorities that BMC certificates are verified with (default: the system's)")
	f.StringSliceVar(&o.AllowedRegistries, "allowed-registries", o.AllowedRegistries, "registries that images may come from, host or host:port")
	f.StringSliceVar(&o.PlainHTTPRegistries, "plain-http-registries", nil, "those of them that are spoken to without TLS")
	f.StringVar(&o.Architecture, "architecture", o.Architecture, "architecture of servers that do not tell theirs")
	f.Int64Var(&o.ImageCacheSize, "image-cache-size", o.ImageCacheSize, "bytes of disk for cached layers")
	f.StringVar(&o.DefaultUKIURL, "default-httpboot-uki-url", "", "UKI for machines that /httpboot does not know")
	f.StringVar(&o.IgnitionAccess, "ignition-access", o.IgnitionAccess, "who may read ignition: token, expected or open")
	f.BoolVar(&o.AllowUnauthenticatedProbe, "allow-unauthenticated-probe", false, "accept probe reports without a token")
	f.StringSliceVar(&o.TrustedForwarders, "trusted-forwarders", nil, "CIDRs whose X-Forwarded-For is believed on /httpboot")
	f.IntVar(&o.Sim, "sim", 0, "simulate a rack of that many servers")
	f.StringVar(&o.SimAddress, "sim-address", o.SimAddress, "address of the simulated BMCs, which answer on 127.64.0.0/16")
	f.StringVar(&o.SimVendor, "sim-vendor", o.SimVendor, fmt.Sprintf("whose ways the simulated BMCs have: %v, several that take turns, or %q for all", sim.Vendors(), sim.VendorMix))
	f.StringVar(&o.SimFaultsFile, "sim-faults", "", "what is wrong with the simulated BMCs at first, YAML (docs/simulator.md)")
	f.StringVar(&o.SimAdminAddress, "sim-admin-address", "", "address at which 'farrier sim fault' reaches the rack (default: none)")
	f.StringVar(&o.RegistryAddress, "registry-address", o.RegistryAddress, "address of the registry that comes with a simulated rack")
}

func wrapUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// newLogger writes lines for people. logr counts verbosity upwards, slog downwards.
func newLogger(w io.Writer, verbosity int) logr.Logger {
	return logr.FromSlogHandler(console.NewHandler(w, slog.Level(-verbosity)))
}
