package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/screen"
	"github.com/farrier-dev/farrier/internal/cli/status"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/place"
	"github.com/farrier-dev/farrier/internal/program/usage"
)

// unknownTimeout bounds the question for unknown machines, which is not worth waiting for.
const unknownTimeout = 5 * time.Second

// serverStates are those that --state takes.
var serverStates = []string{
	string(metalv1.ServerStateInitial), string(metalv1.ServerStateDiscovery), string(metalv1.ServerStateAvailable), string(metalv1.ServerStateReserved),
	string(metalv1.ServerStateReleased), string(metalv1.ServerStateCleanup), string(metalv1.ServerStateMaintenance), string(metalv1.ServerStateParked),
	string(metalv1.ServerStateError),
}

// statusOutputs are the formats of --output.
var statusOutputs = []string{"table", "wide", "json", "yaml"}

// reporter holds the flags of `farrier status`.
type reporter struct {
	teller         teller
	selector, rack string
	states         []string
	rows           int
	watch          bool

	// asked is when somebody asked for unknown machines last, with what came of it.
	asked   time.Time
	unknown []operator.UnknownMachine
	unasked string
}

func newStatus() *cobra.Command {
	r := reporter{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show all servers, and what is wrong",
		Long: `Shows how many servers are in each state, BMCs that fail and claims that wait by cause, unknown machines, and a table of servers: with their
claims, what they do, since when, and the reason where something is wrong. Servers in trouble come first, then those at work, then those that are
claimed.`,
		Example: `  farrier status
  farrier status --watch
  farrier status -l site=berlin --state Error,Cleanup
  farrier status -o json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	r.teller.bindAddress(f)
	f.StringVarP(&r.selector, "selector", "l", "", "only servers and BMCs with these labels, as kubectl takes them: key=value,…")
	f.StringVar(&r.rack, "rack", "", "only servers of this rack: label or annotation "+place.LabelRack+", or "+metalv1.MetadataPrefix+"rack")
	f.StringSliceVar(&r.states, "state", nil, "only servers in these states, separated by commas")
	f.IntVar(&r.rows, "limit", 50, "how many servers the table shows; 0: all")
	f.BoolVarP(&r.watch, "watch", "w", false, "keep looking: redraw the table at a terminal, otherwise print what changes")
	f.StringVarP(&r.teller.output, "output", "o", "table", "output format: table, wide, json or yaml")
	completeValues(cmd, "state", serverStates...)
	completeValues(cmd, "output", statusOutputs...)
	return cmd
}

func (r *reporter) run(ctx context.Context, out io.Writer) error {
	filter, err := r.filter()
	if err != nil {
		return err
	}
	api, _, err := r.teller.kubernetes.connect()
	if err != nil {
		return err
	}
	fleet, err := r.look(ctx, api, filter)
	if err != nil {
		return err
	}
	if r.watch {
		r.follow(ctx, out, fleet, api, filter)
		return nil
	}
	return r.print(out, fleet, time.Now())
}

// look reads everything once.
func (r *reporter) look(ctx context.Context, api client.Reader, filter overview.Filter) (*overview.Fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	objects, missing, err := overview.Gather(ctx, api)
	if err != nil {
		return nil, err
	}
	return r.fleet(ctx, objects, missing, filter), nil
}

// fleet is what there is to show.
func (r *reporter) fleet(ctx context.Context, objects *overview.Objects, missing []string, filter overview.Filter) *overview.Fleet {
	fleet := overview.Of(objects, filter, time.Now())
	fleet.Missing = missing
	if r.selector == "" && r.rack == "" {
		r.addUnknown(ctx, fleet)
	}
	return fleet
}

// follow shows the fleet until the context ends: it watches the objects, so that nothing is read twice.
func (r *reporter) follow(ctx context.Context, out io.Writer, first *overview.Fleet, api client.WithWatch, filter overview.Filter) {
	watch := status.NewWatch(clock.RealClock{}, status.Picture{Wide: r.teller.output == "wide", Rows: r.rows}, first)
	from := overview.NewFollower(api)
	var running sync.WaitGroup
	running.Go(func() { from.Run(ctx) })
	running.Go(func() { r.feed(ctx, from, watch, filter) })
	live := screen.Live{Out: out, Source: watch, Clock: clock.RealClock{}, Size: screen.Terminal(out), Paint: screen.PaintFor(out)}
	live.Run(ctx)
	running.Wait()
}

const (
	// notBefore is the shortest time between two pictures, and pictureShare how many times as long as one takes there is none: a large fleet must not
	// keep the processor busy.
	notBefore    = time.Second
	pictureShare = 10
	// anyway is when there is another picture though no object has changed: time makes things overdue.
	anyway = 10 * time.Second
)

// feed makes a picture whenever something has changed.
func (r *reporter) feed(ctx context.Context, from *overview.Follower, watch *status.Watch, filter overview.Filter) {
	failing := false
	for {
		changed, begin := from.Changed(), time.Now()
		objects, missing, err := from.Objects()
		switch {
		case err != nil:
			if !failing { // it is said once
				watch.Look(nil, plain(err))
			}
			failing = true
		case objects != nil:
			fleet := r.fleet(ctx, objects, missing, filter)
			if ctx.Err() != nil {
				return
			}
			watch.Look(fleet, nil)
			failing = false
		}
		if !pause(ctx, max(notBefore, pictureShare*time.Since(begin)), nil) || !pause(ctx, anyway, changed) {
			return
		}
	}
}

// pause waits so long, or until something has changed, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// filter reads the flags that choose servers.
func (r *reporter) filter() (overview.Filter, error) {
	filter := overview.Filter{Rack: r.rack, States: r.states}
	var err error
	if filter.Labels, err = labels.Parse(r.selector); err != nil {
		return filter, usage.Errorf("--selector: %w", err)
	}
	for i, state := range r.states {
		at := slices.IndexFunc(serverStates, func(known string) bool { return strings.EqualFold(known, state) })
		if at < 0 {
			return filter, usage.Errorf("--state: %q is not one of %s%s", state, strings.Join(serverStates, ", "), usage.Meant(usage.SimilarTo(serverStates, state), "%s"))
		}
		r.states[i] = serverStates[at]
	}
	if !slices.Contains(statusOutputs, r.teller.output) {
		return filter, usage.Errorf("--output: %q is not one of %s", r.teller.output, strings.Join(statusOutputs, ", "))
	}
	if r.watch && (r.teller.output == "json" || r.teller.output == "yaml") {
		return filter, usage.Errorf("--watch: needs --output table or wide")
	}
	if r.rows < 0 {
		return filter, usage.Errorf("--limit: %d is less than zero", r.rows)
	}
	return filter, nil
}

// unknownEvery is how often a watch asks for unknown machines, which are no objects.
const unknownEvery = 10 * time.Second

// addUnknown asks for unknown machines. A Farrier without an operator address has nobody to ask.
func (r *reporter) addUnknown(ctx context.Context, fleet *overview.Fleet) {
	if time.Since(r.asked) < unknownEvery {
		fleet.Unknown = r.unknown
		if r.unasked != "" {
			fleet.Missing = append(fleet.Missing, r.unasked)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, unknownTimeout)
	defer cancel()
	_, asked, at, err := r.teller.connect(ctx)
	if err == nil {
		fleet.Unknown, err = asked.Unknown(ctx)
		err = explainOperator(at.URL, operator.PathUnknown, err)
	}
	r.asked, r.unknown, r.unasked = time.Now(), fleet.Unknown, ""
	if err != nil {
		r.unasked = fmt.Sprintf("unknown machines: %v", err)
		fleet.Missing = append(fleet.Missing, r.unasked)
	}
}

func (r *reporter) print(out io.Writer, fleet *overview.Fleet, now time.Time) error {
	switch r.teller.output {
	case "json":
		return printJSON(out, fleet)
	case "yaml":
		content, err := yaml.Marshal(fleet)
		if err != nil {
			return err
		}
		_, err = out.Write(content)
		return err
	}
	columns := status.Unlimited
	if size := screen.Terminal(out); size != nil && r.teller.output != "wide" {
		columns, _ = size()
	}
	picture := status.Picture{Wide: r.teller.output == "wide", Rows: r.rows, Paint: screen.PaintFor(out), Now: now}
	_, err := io.WriteString(out, strings.Join(picture.Lines(fleet, columns, status.Unlimited), "\n")+"\n")
	return err
}
