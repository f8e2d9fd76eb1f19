package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/manifest"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpolicy"
	"github.com/farrier-dev/farrier/internal/printable"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// planner is what `farrier rollout plan` is asked.
type planner struct {
	kubernetes cluster
	// file is a manifest of Sets that are planned before they are applied; empty: none.
	file string
}

func newRolloutPlan() *cobra.Command {
	var p planner
	cmd := &cobra.Command{
		Use: "plan [SET | -f FILE]", Short: "Print what would happen, in order, before anything does",
		Long: `Prints the targets of a Set, or of all Sets that go by a RolloutPolicy, in the order in which their changes begin: the wave of each, where its servers
stand, and why it does not begin now. With -f the Sets are those of a file, as if it were applied: new ones, or changes of those that exist. RolloutPolicies
of the file count too. Nothing is written.`,
		Example: "  farrier rollout plan rack1-bios\n  farrier rollout plan -f rack1-bios.yaml\n  kustomize build site | farrier rollout plan -f -",
		Args:    usage.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.file != "" && len(args) > 0 {
				return usage.Errorf("give a Set or --filename, not both")
			}
			api, _, err := p.kubernetes.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookTimeout)
			defer cancel()
			if p.file != "" {
				return planFile(ctx, cmd, api, p.file)
			}
			return planSets(ctx, cmd.OutOrStdout(), api, args)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&p.file, "filename", "f", "", "manifest of Sets, and of RolloutPolicies, to plan as if it were applied: a file, or - for standard input")
	p.kubernetes.bind(cmd.Flags())
	return cmd
}

// planSets plans the Set that is named, or all.
func planSets(ctx context.Context, out io.Writer, api client.Client, args []string) error {
	name := ""
	if len(args) > 0 {
		found, err := rolloutOf(ctx, api, args[0])
		if err != nil {
			return err
		}
		name = found.Kind + "/" + found.Object.GetName()
	}
	plans, err := rolloutpolicy.Plan(ctx, api, clock.RealClock{}, func(kind, set string) bool { return name == "" || name == kind+"/"+set })
	if err != nil {
		return err
	}
	return printPlans(out, plans, name)
}

// planFile plans the Sets of a file, in its order.
func planFile(ctx context.Context, cmd *cobra.Command, api client.Reader, path string) error {
	name := path
	if path == "-" {
		name = "standard input"
	}
	content, err := readFileUpTo(path, cmd.InOrStdin(), manifest.MaxSize)
	if err != nil {
		return fmt.Errorf("--filename: %s: %w", name, err)
	}
	proposed, err := manifest.Read(ctx, content, api)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, warning := range proposed.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", name, printable.Line(warning))
	}
	plans, err := rolloutpolicy.PlanProposal(ctx, api, rolloutpolicy.Proposal{Policies: proposed.Policies, Sets: proposed.Sets}, clock.RealClock{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return printProposal(cmd.OutOrStdout(), plans, proposed.Sets)
}

// printProposal prints the plans of Sets that are about to be applied.
func printProposal(out io.Writer, plans []rolloutpolicy.Planned, sets []client.Object) error {
	for _, set := range sets {
		kind := set.GetObjectKind().GroupVersionKind().Kind
		if err := printPlans(out, plans, kind+"/"+set.GetName()); err != nil {
			return err
		}
		planned := slices.ContainsFunc(plans, func(p rolloutpolicy.Planned) bool { return p.Kind == kind && p.Name == set.GetName() })
		if !planned || kind != "BIOSSettingsSet" && kind != "BMCSettingsSet" {
			continue
		}
		if _, err := fmt.Fprintln(out, "Only the BMCs know which targets have the settings already. Farrier asks them once the Set is applied, so fewer may change."); err != nil {
			return err
		}
	}
	return nil
}

// printPlans prints the plan of one Set, or all.
func printPlans(out io.Writer, plans []rolloutpolicy.Planned, name string) error {
	printed := 0
	for i := range plans {
		if p := &plans[i]; name == "" || name == p.Kind+"/"+p.Name {
			printed++
			if err := printPlan(out, p); err != nil {
				return err
			}
		}
	}
	if printed > 0 {
		return nil
	}
	if name == "" {
		name = "No Set goes by a RolloutPolicy"
	} else {
		name += " goes by no RolloutPolicy"
	}
	_, err := fmt.Fprintf(out, "%s, so everything begins at once: set the annotation %s (docs/rollouts.md).\n", name, metalv1.AnnotationRolloutPolicy)
	return err
}

func printPlan(out io.Writer, p *rolloutpolicy.Planned) error {
	fmt.Fprintf(out, "%s/%s goes by RolloutPolicy %s: %d targets to change, %d have it already.\n", strings.ToLower(p.Kind), p.Name, p.Policy, len(p.Targets), p.Already)
	if held := p.Decision.Held; held != nil {
		fmt.Fprintf(out, "Nothing begins now: %s\n", reasonWith(string(held.Reason), held.Message))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, target := range p.Targets {
		if i == 0 || target.Wave != p.Targets[i-1].Wave {
			_ = table.Flush() // the lines of a wave are aligned by themselves
			fmt.Fprintln(out, waveTitle(p, target.Wave))
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", target.Name, placesOf(target.Places), standing(p, target)+approvalsOf(target.Approvals))
	}
	if err := table.Flush(); err != nil || len(p.Taken) == 0 {
		return err
	}
	fmt.Fprintf(out, "Taken by others, and left alone (%d):\n", len(p.Taken))
	for _, taken := range p.Taken {
		fmt.Fprintf(table, "  %s\t%s\n", taken.Target, printable.Line(taken.By))
	}
	return table.Flush()
}

// approvalsOf says whose approval a target needs, after what else is said of it.
func approvalsOf(claims []string) string {
	switch len(claims) {
	case 0:
		return ""
	case 1:
		return "; the owner of ServerClaim " + claims[0] + " has to approve"
	}
	return "; the owners of ServerClaims " + strings.Join(claims, ", ") + " have to approve"
}

func waveTitle(p *rolloutpolicy.Planned, wave int) string {
	upTo, bake := p.BakeOf(wave)
	if upTo == "" {
		return fmt.Sprintf("Wave %d: the rest", wave)
	}
	title := fmt.Sprintf("Wave %d: up to %s", wave, upTo)
	if gates := p.Says.GatesOf(wave); len(gates) > 0 {
		title += fmt.Sprintf(", gates %s", gateNames(gates))
	}
	if bake > 0 {
		title += ", then nothing for " + plainDuration(bake)
	}
	return title
}

func gateNames(gates []rollout.Gate) string {
	names := make([]string, 0, len(gates))
	for _, gate := range gates {
		names = append(names, string(gate))
	}
	return strings.Join(names, " and ")
}

// plainDuration is a duration without what is zero at its end: 24h for 24h0m0s.
func plainDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// placesOf says where the servers of a target stand.
func placesOf(places []string) string {
	var said []string
	for _, at := range places {
		if zone, rack, _ := strings.Cut(at, "/"); zone == "" {
			said = append(said, orDash(rack))
		} else {
			said = append(said, printable.Line(at))
		}
	}
	return orDash(strings.Join(said, ", "))
}

// standing says how a target stands.
func standing(p *rolloutpolicy.Planned, target rolloutpolicy.PlannedTarget) string {
	switch {
	case target.Begins:
		return "begins now"
	case target.Item.Stand == rollout.Begun && target.Item.Gate != "":
		return "in progress: waits at gate " + string(target.Item.Gate)
	case target.Item.Stand == rollout.Begun:
		return "in progress"
	case target.Item.Stand == rollout.Done:
		return "done"
	case target.Item.Stand == rollout.Failed:
		return "failed: " + printable.Line(target.Item.Class)
	case target.Wait == nil || p.Decision.Held != nil:
		return "waits"
	}
	text := "waits: " + printable.Line(target.Wait.Message)
	if target.Item.Unready && target.Reason != "" {
		text += " (" + printable.Line(target.Reason) + ")"
	}
	return text
}
