package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/move"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/system"
)

// moveWaits is how long a move waits for machines that boot: a boot is over after 15 minutes, and a discovery takes about as long.
const moveWaits = 30 * time.Minute

// moveRequest is how long one request of a move may take.
const moveRequest = 30 * time.Second

func newMove() *cobra.Command {
	var source cluster
	target := cluster{prefix: "to-"}
	var dryRun, abort bool
	timeout := moveWaits
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Move everything that Farrier holds to another Kubernetes API",
		Long: `Moves all objects of Farrier, with the Secrets and ConfigMaps that belong to them, from one Kubernetes API to another. Machines are not touched: both
sides are paused first, so that no manager acts during the move, and the target goes on where the source was stopped. The source stays paused.
Before that the command waits until no server is being booted or cleaned, up to --timeout.

A move that was interrupted or has failed goes on when the command is run again. Both APIs need the CRDs of config/crd and the manager's namespace.`,
		Example: `  farrier move --dry-run --to-kubeconfig new.kubeconfig
  farrier move --kubeconfig /var/lib/farrier/kubeconfig --to-kubeconfig new.kubeconfig --to-context prod`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if target.kubeconfig == "" && target.context == "" {
				return usage.Errorf("--to-kubeconfig or --to-context: where to move is required")
			}
			if dryRun && abort {
				return usage.Errorf("--dry-run and --abort: give one of them")
			}
			if timeout < 0 {
				return usage.Errorf("--timeout: %s is less than zero", timeout)
			}
			if target.kubeconfig == "" {
				target.kubeconfig = source.kubeconfig
			}
			from, err := side(&source, "source")
			if err != nil {
				return err
			}
			to, err := side(&target, "target")
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			run := move.Run
			if abort {
				run = move.Abort
			}
			return run(cmd.Context(), move.Options{
				Source: from, Target: to, Namespace: source.namespace, DryRun: dryRun, Pause: move.Await(leadership.PauseTakes), Now: time.Now,
				Timeout: timeout, Sleep: move.Sleep,
				Say: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	source.bind(f)
	f.StringVar(&target.kubeconfig, "to-kubeconfig", "", "kubeconfig of the Kubernetes API to move to (default: that of --kubeconfig)")
	f.StringVar(&target.context, "to-context", "", "context of that kubeconfig (default: its current context)")
	f.BoolVar(&dryRun, "dry-run", false, "only print what would be moved, in order")
	f.DurationVar(&timeout, "timeout", timeout, "how long to wait, before anything is paused, for servers that are being booted or cleaned; 0: refuse at once")
	f.BoolVar(&abort, "abort", false, "give up a move that has not deleted anything at the source: delete the copies, let both sides act as before")
	return cmd
}

// side connects to one API of a move. A field that it does not know is an error, for it would be lost.
func side(c *cluster, role string) (move.Side, error) {
	_, config, err := c.connect()
	if err != nil {
		return move.Side{}, err
	}
	config = rest.CopyConfig(config)
	config.Timeout, config.QPS, config.WarningHandler = moveRequest, -1, rest.NoWarnings{}
	name := fmt.Sprintf("--%skubeconfig: the %s at %s", c.prefix, role, config.Host)
	api, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return move.Side{}, fmt.Errorf("%s: %w", name, err)
	}
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return move.Side{}, fmt.Errorf("%s: %w", name, err)
	}
	return move.Side{Client: client.WithFieldValidation(api, metav1.FieldValidationStrict), Discovery: resources, Name: name}, nil
}
