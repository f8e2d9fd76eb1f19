package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/farrier-dev/farrier/internal/admission/webhook"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
	"github.com/farrier-dev/farrier/internal/host/collector"
	"github.com/farrier-dev/farrier/internal/program/configfile"
	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/program/version"
	"github.com/farrier-dev/farrier/internal/system"
)

// Main runs the command line and returns the exit code: 0 for success, 1 for failure, 2 for an invalid command line.
func Main(args []string, stdout, stderr io.Writer) int {
	return usage.Main(Command(), args, stdout, stderr, os.Interrupt, syscall.SIGTERM)
}

// options are the flags of farrier-manager: its own and those of the system.
type options struct {
	system.Options
	kubeconfig  string
	installCRDs bool
	webhooks    webhook.Options
	verbosity   int
	filter      watchfilter.Filter // of the flag, once that is checked
}

// Command is the command line of farrier-manager, as its manual describes it.
func Command() *cobra.Command {
	o := options{Options: system.DefaultOptions()}
	o.Program = "farrier-manager"
	o.BootNamespaces = nil // the manager's: a cluster has tenants
	cmd := &cobra.Command{
		Use:   "farrier-manager",
		Short: "Run Farrier on the Kubernetes API of a cluster",
		Long: `Runs Farrier's controllers and boot server on the Kubernetes API of a cluster.

You can run several replicas: the one that holds the Lease "farrier-manager" in --manager-namespace is active, and the
others keep their caches and their boot view up to date and stand by. With --shards all replicas look after BMCs and
servers, each after a part of them. With --watch-filter several installations share an
API, each with objects, a namespace and a Lease of its own.`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Logger = logr.FromSlogHandler(logging.NewHandler(cmd.ErrOrStderr(), slog.Level(-o.verbosity)))
			klog.SetLogger(system.LowerVerbosity(o.Logger)) // client-go's, of leases for example
			return run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	configfile.Bind(cmd)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the Kubernetes API (default: $KUBECONFIG, otherwise the cluster that this process runs in)")
	f.BoolVar(&o.installCRDs, "install-crds", false, "install or update Farrier's CRDs at the start")
	f.BoolVar(&o.LeaderElection, "leader-elect", true, "be active only while holding the Lease; set it to false only if no other farrier-manager runs")
	f.IntVar(&o.Shards, "shards", 0, "divide BMCs with their servers among all managers, in this many parts, at most 64; all managers must have the same number, which should be a multiple of how many run (docs/manager.md) (default 0: the manager with the Lease looks after all)")
	f.StringVar(&o.HealthAddress, "health-address", ":8081", "host:port of /healthz and /readyz; empty: none")
	f.StringVar(&o.PprofAddress, "pprof-address", "", "host:port of the pprof profiles of this process, which can reveal secrets (default: none)")
	f.StringVar(&o.WatchFilter, "watch-filter", "", "`VALUE` of the label metal.ironcore.dev/watch-filter of the objects that this installation reads and writes, where several share a Kubernetes API (docs/manager.md) (default: objects without the label)")
	o.webhooks.Bind(f)
	o.Bind(f)
	f.IntVarP(&o.verbosity, "verbosity", "v", 0, "log level: 0 what Farrier does, 1 also why, 2 everything")
	return cmd
}

// whileBusy is how much garbage may gather while a fleet is met or onboarded. With more, the manager of 10,000 BMCs would take memory that it never needs
// again; with a third it would be collected much more often.
const whileBusy collector.Share = 40

// run runs until ctx ends or a part fails.
func run(ctx context.Context, o options) (err error) {
	garbage, err := collector.Tune(func(int64) collector.Share { return whileBusy }, os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	o.Logger.V(1).Info("garbage collection tuned", "percent", garbage.Share, "limit", garbage.Limit)
	if o.filter, err = watchfilter.Parse(o.WatchFilter); err != nil {
		return fmt.Errorf("--watch-filter: %w", err)
	}
	webhooks, err := o.webhooks.Server()
	if err != nil {
		return err
	}
	o.Beside = append(o.Beside, webhook.Beside(webhooks, webhook.Installation{Namespace: o.ManagerNamespace, ForeignBoot: o.ForeignBoot(), Filter: o.filter}, o.Logger.WithName("webhooks")))
	s, err := system.New(o.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if webhooks != nil {
		webhooks.Listener = s.OperatorListener
	}
	config, err := connect(ctx, o, s.AwaitAPI)
	if err == nil {
		err = s.Start(ctx, config)
	}
	if ctx.Err() != nil {
		o.Logger.Info("stopping")
		return nil
	}
	if err != nil {
		return err
	}
	o.Logger.Info("started", "version", version.String(), "api", config.Host, "url", s.BootURL)
	synced := s.Synced()
	for {
		select {
		case <-synced:
			o.Logger.Info("caches filled")
			synced = nil
		case err := <-s.Failed():
			return err
		case <-ctx.Done():
			o.Logger.Info("stopping")
			return nil
		}
	}
}
