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

	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/standalone"
)

// simTiming is how long simulated machines take in `farrier up`: long enough to watch.
var simTiming = sim.Timing{POST: 3 * time.Second, BootRetry: 30 * time.Second, Shutdown: 2 * time.Second, OSBoot: 2 * time.Second, Latency: 5 * time.Millisecond}

func newUp() *cobra.Command {
	options := standalone.DefaultOptions()
	var verbosity int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole of Farrier in this process",
		Long: `Runs the whole of Farrier in one process: a Kubernetes API with its store, the controllers,
the boot server, and with --sim a simulated rack. State is kept in the data directory.

One line that begins with "ready" is printed when everything answers.`,
		Example: `  farrier up --sim 3
  kubectl --kubeconfig /var/lib/farrier/kubeconfig get servers`,
		Args: usage.NoArgs,
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
func up(ctx context.Context, out io.Writer, options standalone.Options) error {
	s, err := standalone.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ready api=%s kubeconfig=%s boot=%s", s.APIURL, s.Kubeconfig, s.BootURL)
	if len(s.BootCA()) > 0 {
		fmt.Fprintf(out, " boot-ca=%s", s.BootCAFile())
	}
	if s.Rack != nil {
		fmt.Fprintf(out, " registry=%s sim=%d", s.Registry.Address(), len(s.Rack.BMCs()))
	}
	if s.BMCEventsURL != "" {
		fmt.Fprintf(out, " events=%s", s.BMCEventsURL)
	}
	if s.OperatorURL != "" {
		fmt.Fprintf(out, " operator=%s", s.OperatorURL)
		if options.OperatorCertFile == "" {
			fmt.Fprintf(out, " operator-ca=%s", s.CAFile)
		}
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

// upFlags binds every option; those that farrier-manager has too are bound in internal/system.
func upFlags(f *pflag.FlagSet, o *standalone.Options) {
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "where to write the kubeconfig, and beside it the administrator's certificate (default: in the data directory)")
	f.DurationVar(&o.AdminValidity, "admin-certificate-validity", o.AdminValidity, "how long that certificate is valid; it is renewed at half of the time")
	f.StringVar(&o.APIAddress, "api-address", o.APIAddress, "address of the Kubernetes API; port 0 means any free one")
	f.BoolVar(&o.AuditLog, "audit-log", o.AuditLog, "record in audit/audit.log of the data directory who asks the Kubernetes API for what")
	f.StringVar(&o.AuditPolicyFile, "audit-policy-file", "", "what is recorded, a Policy of audit.k8s.io/v1 (default: changes, and reads of Secrets, without bodies)")
	f.IntVar(&o.AuditLogMaxSize, "audit-log-max-size", o.AuditLogMaxSize, "how many MiB a file of the audit log may have before the next is begun")
	f.IntVar(&o.AuditLogMaxBackups, "audit-log-max-backups", o.AuditLogMaxBackups, "how many former files of the audit log are kept")
	f.IntVar(&o.AuditLogMaxAge, "audit-log-max-age", o.AuditLogMaxAge, "for how many days former files of the audit log are kept")
	o.Bind(f)
	f.IntVar(&o.Sim, "sim", 0, "simulate a rack of that many servers")
	f.StringVar(&o.SimAddress, "sim-address", o.SimAddress, "address of the simulated BMCs; with 0.0.0.0 each answers at an address of its own in 127.64.0.0/16, else at a port of its own, from this one on")
	f.StringVar(&o.SimVendor, "sim-vendor", o.SimVendor, fmt.Sprintf("whose ways the simulated BMCs have: %v, several that take turns, or %q for all", sim.Vendors(), sim.VendorMix))
	f.StringVar(&o.SimFaultsFile, "sim-faults", "", "what is wrong with the simulated BMCs at first, YAML (docs/simulator.md)")
	f.StringVar(&o.SimAdminAddress, "sim-admin-address", "", "address at which 'farrier sim fault' reaches the rack (default: none)")
	f.StringVar(&o.RegistryAddress, "registry-address", o.RegistryAddress, "address of the registry that comes with a simulated rack")
}

// newLogger writes lines for people. logr counts verbosity upwards, slog downwards.
func newLogger(w io.Writer, verbosity int) logr.Logger {
	return logr.FromSlogHandler(logging.NewHandler(w, slog.Level(-verbosity)))
}
