package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

// claimPrefix begins an argument that names a claim in place of its server.
const claimPrefix = "claim/"

// orderer holds the flags of the commands that change something.
type orderer struct {
	kubernetes    cluster
	namespace     string
	explain, wait bool
	timeout       time.Duration
}

// bind adds the flags to a command that waits so long. One of cluster-scoped objects alone has no namespace.
func (o *orderer) bind(cmd *cobra.Command, timeout time.Duration, namespaced bool) {
	f := cmd.Flags()
	f.SortFlags = false
	if namespaced {
		f.StringVarP(&o.namespace, "namespace", "n", metav1.NamespaceDefault, "namespace of the object")
		_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
	}
	f.BoolVar(&o.explain, "explain", false, "print the kubectl commands that do the same, and change nothing")
	f.BoolVar(&o.wait, "wait", true, "wait until it has come about")
	f.DurationVar(&o.timeout, "timeout", timeout, "how long to wait; exit code 3 afterwards")
	o.kubernetes.bind(f)
}

// ordering makes the orders of a command.
type ordering func(ctx context.Context, api client.Client) ([]verb.Order, error)

// run makes orders and carries them out.
func (o *orderer) run(cmd *cobra.Command, orders ordering) error {
	if o.timeout <= 0 {
		return usage.Errorf("--timeout: %s is not greater than zero", o.timeout)
	}
	api, _, err := o.kubernetes.connect()
	if err != nil {
		return err
	}
	made, err := orders(cmd.Context(), api)
	if err != nil {
		return err
	}
	runner := verb.Runner{
		Out: cmd.OutOrStdout(), Progress: cmd.ErrOrStderr(), Explain: o.explain, NoWait: !o.wait, Timeout: o.timeout, Clock: clock.RealClock{},
	}
	return runner.Run(cmd.Context(), made...)
}

// target is what an argument names: a server, or claim/NAME.
func (o *orderer) target(api client.Client, arg string) verb.Target {
	t := verb.Target{API: api, Namespace: o.namespace}
	if name, claim := strings.CutPrefix(arg, claimPrefix); claim {
		t.Claim = name
	} else {
		t.Server = arg
	}
	return t
}

// one accepts the name of one thing.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" || args[0] == claimPrefix {
			return usage.Errorf("give the name of one %s, not %d", what, len(args))
		}
		return nil
	}
}

// simple is a command about one server, without flags of its own.
type simple struct {
	use, short, long string
	timeout          time.Duration
	// claims says that claim/NAME stands for its server.
	claims bool
	orders func(ctx context.Context, t verb.Target) ([]verb.Order, error)
}

func (s simple) command() *cobra.Command {
	var o orderer
	arg := "SERVER"
	if s.claims {
		arg = "SERVER|claim/NAME"
	}
	cmd := &cobra.Command{
		Use: s.use + " " + arg, Short: s.short, Long: s.long, Args: one("server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				t := o.target(api, args[0])
				if t.Claim != "" && !s.claims {
					return nil, usage.Errorf("give the name of a server, not %s", args[0])
				}
				return s.orders(ctx, t)
			})
		},
	}
	o.bind(cmd, s.timeout, s.claims)
	completeNames(cmd, func() *cluster { return &o.kubernetes }, "Server")
	return cmd
}

// newVerbs are the commands that change something.
func newVerbs() []*cobra.Command {
	const soon = 15 * time.Minute
	return []*cobra.Command{
		newClaim(), newRelease(), newPower(),
		simple{
			use: "park", short: "Shut a server down once and leave it alone", timeout: soon, orders: verb.Park,
			long: "Asks for operation park of the Server (docs/maintenance.md#park). In Cleanup, Maintenance and Released the request waits for the next state.",
		}.command(),
		simple{
			use: "unpark", short: "Return a parked server to the state where it belongs", timeout: soon, orders: verb.Unpark,
			long: "Asks for operation unpark of the Server (docs/maintenance.md#park).",
		}.command(),
		simple{
			use: "cordon", short: "Keep claims away from a server", timeout: soon,
			long:   "Sets spec.unclaimable of the Server. A claim that has it keeps it.",
			orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) { return verb.Cordon(ctx, t, true) },
		}.command(),
		simple{
			use: "uncordon", short: "Let claims have a server again", timeout: soon,
			long:   "Clears spec.unclaimable of the Server.",
			orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) { return verb.Cordon(ctx, t, false) },
		}.command(),
		newWipe(), newMaintain(), newAdd(),
	}
}

func newPower() *cobra.Command {
	const usual = 15 * time.Minute
	group := &cobra.Command{
		Use: "power", Short: "Switch a machine on or off, or reset it", Args: usage.NoArgs,
		Long: `Switches the machine of a claim, or of a maintenance, on or off: their specs say what its power is to be. Farrier keeps a server that nobody
has off, and decides about the power of one that it inspects or cleans; there the command says what to do instead.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	on := simple{
		use: "on", short: "Switch a machine on", timeout: usual, claims: true,
		long: "Sets spec.power of the claim, or spec.serverPower of the maintenance, to On, and waits until the BMC shows it.",
		orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) {
			return verb.Power(ctx, t, metalv1.PowerOn)
		},
	}.command()
	cycle := simple{
		use: "cycle", short: "Switch the power of a machine off and on again", timeout: usual, claims: true,
		long: "Asks for operation power-cycle-server of the Server, which the operating system is not asked about.",
		orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) {
			return verb.Reset(ctx, t, metalv1.OperationPowerCycleServer, "power cycle")
		},
	}.command()
	group.AddCommand(on, newPowerOff(), cycle, newPowerReset())
	return group
}

func newPowerOff() *cobra.Command {
	force := false
	cmd := simple{
		use: "off", short: "Shut a machine down", timeout: 15 * time.Minute, claims: true,
		long: `Sets spec.power of the claim, or spec.serverPower of the maintenance, to Off, and waits until the BMC shows it. The operating system is asked
to shut down; --force asks nobody (operation force-off-server).`,
		orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) {
			if force {
				return verb.ForceOff(ctx, t)
			}
			return verb.Power(ctx, t, metalv1.PowerOff)
		},
	}.command()
	cmd.Flags().BoolVar(&force, "force", false, "switch the power off without asking the operating system")
	return cmd
}

func newPowerReset() *cobra.Command {
	graceful := false
	cmd := simple{
		use: "reset", short: "Reset a machine", timeout: 15 * time.Minute, claims: true,
		long: "Asks for operation hard-restart-server of the Server; --graceful asks the operating system to restart (graceful-restart-server).",
		orders: func(ctx context.Context, t verb.Target) ([]verb.Order, error) {
			operation := metalv1.OperationHardRestartServer
			if graceful {
				operation = metalv1.OperationGracefulRestartServer
			}
			return verb.Reset(ctx, t, operation, "power reset")
		},
	}.command()
	cmd.Flags().BoolVar(&graceful, "graceful", false, "ask the operating system to restart")
	return cmd
}
