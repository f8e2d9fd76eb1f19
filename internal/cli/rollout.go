package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/printable"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/verb"
)

func newRollout() *cobra.Command {
	group := &cobra.Command{
		Use: "rollout", Short: "Plan, watch and steer how changes go through the fleet", Args: usage.NoArgs,
		Long: "A rollout is the way of a change of a Set through its servers or BMCs, as a RolloutPolicy says (docs/rollouts.md).",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newRolloutPlan(), newRolloutStatus(), newRolloutWait(),
		newSteer("pause", "Keep a rollout from going on", "Nothing further begins. What has begun ends.", func(s verb.RolloutSet) []verb.Order { return verb.HoldRollout(s, metalv1.RolloutPaused) }),
		newSteer("resume", "Let a rollout go on", "After a limit of failures, those that there are count as accepted: it is reached anew by as many further ones.", verb.ResumeRollout),
		newSteer("abort", "End a rollout where it is", "Nothing further begins, and what may begin and has not loses its permit. What has begun ends. The way back is a rollout of the version before.", func(s verb.RolloutSet) []verb.Order { return verb.HoldRollout(s, metalv1.RolloutAborted) }),
	)
	return group
}

// newSteer is a command that writes annotations of a Set.
func newSteer(use, short, long string, orders func(verb.RolloutSet) []verb.Order) *cobra.Command {
	var o orderer
	cmd := &cobra.Command{
		Use: use + " SET", Short: short, Long: long, Args: one("Set"), Example: "  farrier rollout " + use + " rack1-bios",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				found, err := rolloutOf(ctx, api, args[0])
				if err != nil {
					return nil, err
				}
				return orders(found), nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.explain, "explain", false, "print the kubectl commands that do the same, and change nothing")
	o.timeout, o.wait = lookTimeout, true
	o.kubernetes.bind(cmd.Flags())
	return cmd
}

func newRolloutWait() *cobra.Command {
	var o orderer
	cmd := &cobra.Command{
		Use: "wait SET", Short: "Wait until a rollout is over", Args: one("Set"),
		Long:    "Waits until nothing waits or is in progress any more. Ends with an error where targets have failed, or where somebody or a limit of failures keeps\nthe rollout from going on and what had begun has ended.",
		Example: "  farrier rollout wait rack1-bios --timeout 24h",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, func(ctx context.Context, api client.Client) ([]verb.Order, error) {
				found, err := rolloutOf(ctx, api, args[0])
				if err != nil {
					return nil, err
				}
				return verb.AwaitRollout(found), nil
			})
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.explain, "explain", false, "print the kubectl command that does the same, and wait for nothing")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 24*time.Hour, "how long to wait; exit code 3 afterwards")
	o.wait = true
	o.kubernetes.bind(cmd.Flags())
	return cmd
}

// rolloutOf finds a Set by its name, or by KIND/NAME where Sets of two kinds have it.
func rolloutOf(ctx context.Context, api client.Client, arg string) (verb.RolloutSet, error) {
	kind, name, qualified := strings.Cut(arg, "/")
	if !qualified {
		kind, name = "", arg
	}
	var found []verb.RolloutSet
	for _, k := range childset.Kinds() {
		if qualified && !strings.EqualFold(kind, k.Name) {
			continue
		}
		set := k.NewSet()
		err := api.Get(ctx, client.ObjectKey{Name: name}, set)
		if client.IgnoreNotFound(err) != nil {
			return verb.RolloutSet{}, fmt.Errorf("%s %s: %w", k.Name, name, err)
		}
		if err == nil {
			found = append(found, verb.RolloutSet{API: api, Object: set, Kind: k.Name})
		}
	}
	switch len(found) {
	case 0:
		return verb.RolloutSet{}, fmt.Errorf("no Set has the name %.253q: give that of a BIOSVersionSet, a BMCVersionSet or a Set of settings", arg)
	case 1:
	default:
		return verb.RolloutSet{}, usage.Errorf("a %s and a %s have the name %s: give KIND/NAME", found[0].Kind, found[1].Kind, name)
	}
	s := &found[0]
	s.Read = func(ctx context.Context) (*farrierv1.Rollout, error) {
		rollouts, err := readRollouts(ctx, api)
		for i := range rollouts {
			if r := &rollouts[i].Rollout; r.Kind == s.Kind && r.Name == name {
				return r, err
			}
		}
		return nil, err
	}
	r, err := s.Read(ctx)
	if r != nil {
		s.Failed = int(r.Failed)
	}
	return *s, err
}

// listedRollout is a rollout with the policy that it goes by.
type listedRollout struct {
	Policy string `json:"policy"`
	farrierv1.Rollout
}

func readRollouts(ctx context.Context, api client.Reader) ([]listedRollout, error) {
	var policies farrierv1.RolloutPolicyList
	if err := api.List(ctx, &policies); err != nil {
		return nil, fmt.Errorf("list the RolloutPolicies: %w", err)
	}
	rollouts := []listedRollout{}
	for i := range policies.Items {
		for _, r := range policies.Items[i].Status.Rollouts {
			rollouts = append(rollouts, listedRollout{policies.Items[i].Name, r})
		}
	}
	return rollouts, nil
}

func newRolloutStatus() *cobra.Command {
	var t teller
	cmd := &cobra.Command{
		Use: "status", Short: "Show how all rollouts stand", Args: usage.NoArgs,
		Long:    "Shows for each Set that goes by a RolloutPolicy in which wave its change is, how many targets wait, are in progress, are completed and have failed, and\nwhat it waits for.",
		Example: "  farrier rollout status\n  farrier rollout status -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(t.output); err != nil {
				return err
			}
			api, _, err := t.kubernetes.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookTimeout)
			defer cancel()
			rollouts, err := readRollouts(ctx, api)
			if err != nil {
				return err
			}
			if t.output == "json" {
				return printJSON(cmd.OutOrStdout(), rollouts)
			}
			return printRollouts(cmd.OutOrStdout(), rollouts, time.Now())
		},
	}
	t.kubernetes.bind(cmd.Flags())
	cmd.Flags().StringVarP(&t.output, "output", "o", "table", "output format: table or json")
	completeValues(cmd, "output", outputs...)
	return cmd
}

func printRollouts(out io.Writer, rollouts []listedRollout, now time.Time) error {
	if len(rollouts) == 0 {
		_, err := fmt.Fprintln(out, "No Set goes by a RolloutPolicy: set its annotation "+metalv1.AnnotationRolloutPolicy+" (docs/rollouts.md).")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SET\tPOLICY\tWAVE\tTARGETS\tWAIT\tIN PROGRESS\tDONE\tFAILED\tFOR\tREASON")
	for _, r := range rollouts {
		since := "-"
		if r.Since != nil {
			since = now.Sub(r.Since.Time).Round(time.Second).String()
		}
		fmt.Fprintf(table, "%s/%s\t%s\t%d of %d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", strings.ToLower(r.Kind), r.Name, r.Policy, r.Wave, r.Waves, r.Targets, r.Waiting, r.InProgress, r.Completed,
			r.Failed, since, printable.Line(reasonWith(r.Reason, r.Message)))
	}
	return table.Flush()
}

func reasonWith(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}
