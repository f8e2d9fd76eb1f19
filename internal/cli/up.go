package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/program/configfile"
	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/vm"
	"github.com/farrier-dev/farrier/internal/standalone"
)

// simTiming is the timing of simulated machines in `farrier up`: slow enough to watch.
var simTiming = sim.Timing{POST: 3 * time.Second, BootRetry: 30 * time.Second, Shutdown: 2 * time.Second, OSBoot: 2 * time.Second, Latency: 5 * time.Millisecond}

func newUp() *cobra.Command {
	options := standalone.DefaultOptions()
	var verbosity int
	var output string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run Farrier with a Kubernetes API of its own",
		Long: `Runs all of Farrier in one process: a Kubernetes API with its store, the controllers, the boot
server and, with --sim, a simulated rack. The data directory holds all state.

As soon as every part answers it prints where everything is, and what to try next; with -o json, one line with a JSON object.`,
		Example: `  farrier up --sim 3
  farrier status`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Logger = newLogger(cmd.ErrOrStderr(), verbosity)
			options.SimTiming = simTiming
			options.CompleteVM(cmd.Flags().Changed)
			if options.Rack() && !cmd.Flags().Changed("bmc-fast-poll") {
				options.BMCFastPoll = time.Second
			}
			if !slices.Contains(upOutputs, output) {
				return usage.Errorf("--output: %q is neither %s", output, strings.Join(upOutputs, " nor "))
			}
			return up(cmd.Context(), cmd.OutOrStdout(), output, options)
		},
	}
	cmd.Flags().SortFlags = false
	configfile.Bind(cmd)
	upFlags(cmd.Flags(), &options)
	cmd.Flags().IntVarP(&verbosity, "verbosity", "v", 0, "log level: 0 what Farrier does, 1 also why, 2 everything")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "how to say that every part answers: text, or json for one line with an object")
	completeValues(cmd, "output", upOutputs...)
	return cmd
}

// up runs until ctx ends or a part fails.
func up(ctx context.Context, out io.Writer, output string, options standalone.Options) error {
	s, err := standalone.Start(ctx, options)
	if err != nil && ctx.Err() != nil {
		options.Logger.Info("stopped before every part was ready")
		options.Logger.V(1).Info("start ended", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := sayReady(out, s, output); err != nil {
		return errors.Join(err, s.Stop())
	}
	select {
	case <-ctx.Done():
		options.Logger.Info("stopping")
		return s.Stop()
	case err := <-s.Failed():
		_ = s.Stop()
		return err
	case <-s.Done():
		return errors.Join(errors.New("the Kubernetes API has stopped"), s.Stop())
	}
}

// upFlags binds all options. internal/system binds those that farrier-manager has too.
func upFlags(f *pflag.FlagSet, o *standalone.Options) {
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "file for the administrator's kubeconfig; its certificate is stored beside it (default: in the data directory)")
	f.DurationVar(&o.AdminValidity, "admin-certificate-validity", o.AdminValidity, "validity of the administrator's certificate in the kubeconfig; Farrier renews it after half of that time")
	f.StringVar(&o.APIAddress, "api-address", o.APIAddress, "host:port of the Kubernetes API; port 0: any free port")
	f.BoolVar(&o.AuditLog, "audit-log", o.AuditLog, "record requests to the Kubernetes API in audit/audit.log of the data directory")
	f.StringVar(&o.AuditPolicyFile, "audit-policy-file", "", "YAML file with the Policy (audit.k8s.io/v1) of the audit log (default: changes, and reads of Secrets, without bodies)")
	f.IntVar(&o.AuditLogMaxSize, "audit-log-max-size", o.AuditLogMaxSize, "size of one audit log file, in MiB, before Farrier starts the next")
	f.IntVar(&o.AuditLogMaxBackups, "audit-log-max-backups", o.AuditLogMaxBackups, "how many old audit log files Farrier keeps")
	f.IntVar(&o.AuditLogMaxAge, "audit-log-max-age", o.AuditLogMaxAge, "how many days Farrier keeps old audit log files")
	o.Bind(f)
	f.StringVar(&o.DiscoveryRoot, "discovery-root", o.DiscoveryRoot, "folder of a system (/), or of an unpacked kernel package, from whose newest kernel the discovery image is built and served; auto: that of / if there is one, unless --probe-os-image or --sim is given; none: no image is built")
	f.IntVar(&o.Sim, "sim", 0, "number of servers in a simulated rack; 0: no rack")
	f.IntVar(&o.VM.Machines, "sim-vm", 0, "number of virtual machines with simulated BMCs: QEMU, with real firmware, in a network of its own that Farrier answers with DHCP and TFTP (root, Linux); 0: none")
	f.StringVar(&o.VM.Firmware, "sim-vm-firmware", o.VM.Firmware, fmt.Sprintf("firmware of the virtual machines: %v, each also with +tpm; several, separated by commas, alternate", vm.Firmwares()))
	f.StringVar(&o.VM.Memory, "sim-vm-memory", o.VM.Memory, "memory of each virtual machine")
	f.StringSliceVar(&o.VM.Disks, "sim-vm-disks", o.VM.Disks, "sizes of the disks of each virtual machine, which are sparse files in the data directory")
	f.StringVar(&o.VM.Network, "sim-vm-network", o.VM.Network, "this host's IPv4 address in the network of the virtual machines, with the length of its prefix")
	f.StringVar(&o.SimAddress, "sim-address", o.SimAddress, "host:port of the simulated BMCs: with 0.0.0.0 each BMC has an address of its own in 127.64.0.0/16, otherwise a port of its own from this one on")
	f.StringVar(&o.SimVendor, "sim-vendor", o.SimVendor, fmt.Sprintf("vendor whose quirks the simulated BMCs have: %v; several, separated by commas, alternate, and %q is all of them", sim.Vendors(), sim.VendorMix))
	f.StringVar(&o.SimFaultsFile, "sim-faults", "", "YAML file of the faults that the simulated BMCs start with (docs/simulator.md) (default: none)")
	f.StringVar(&o.SimAdminAddress, "sim-admin-address", "", "loopback host:port for 'farrier sim fault' (default: none)")
	f.StringVar(&o.RegistryAddress, "registry-address", "", "host:port of the image registry of the simulated rack, or one that serves the discovery image to boot servers elsewhere (default: 127.0.0.1:5000 for a simulated rack, otherwise none)")
}

// newLogger returns a logger that writes lines for people. logr counts verbosity upwards, slog downwards.
func newLogger(w io.Writer, verbosity int) logr.Logger {
	return logr.FromSlogHandler(logging.NewHandler(w, slog.Level(-verbosity)))
}
