package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Disk is a disk of a simulated machine, seen past all of Farrier: what is recognised on it.
type Disk struct {
	Path, Serial string
	Traces       []string
}

// lookAtDisks remembers what the tenant has left on the disks.
func (s *Scenario) lookAtDisks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.claims {
		if c.place.Disks != nil {
			c.before = c.place.Disks()
		}
	}
}

// disksWiped reads what the records say of the cleanups, and looks whether it is true.
func (s *Scenario) disksWiped(ctx context.Context) error {
	var wrong []string
	for _, c := range s.claims {
		made, err := s.recordOf(ctx, c)
		if err != nil {
			return err
		}
		cleanup := compareDisks(c, made)
		s.mu.Lock()
		c.cleanup = cleanup
		s.mu.Unlock()
		if made.Outcome != machinerecord.Clean {
			wrong = append(wrong, fmt.Sprintf("Server %s: %s; %s", c.server, made.Summary, s.consequence(ctx, c.server)))
			continue
		}
		for _, d := range cleanup.Disks {
			if len(d.After) > 0 {
				wrong = append(wrong, fmt.Sprintf("Server %s: the record says that disk %s is %s, but it still contains %s",
					c.server, d.Serial, d.Result, strings.Join(d.After, ", ")))
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", enumerate(wrong))
	}
	return nil
}

// recordOf waits for the record of the cleanup after a claim.
func (s *Scenario) recordOf(ctx context.Context, c *claimed) (machinerecord.Cleanup, error) {
	look := s.clock.NewTicker(pace)
	defer look.Stop()
	for {
		var list corev1.ConfigMapList
		labels := client.MatchingLabels(machinerecord.Selector(c.server))
		labels[machinerecord.Label] = machinerecord.KindCleanup
		if err := s.lab.Client.List(ctx, &list, labels); err != nil {
			return machinerecord.Cleanup{}, fmt.Errorf("records of Server %s: %w", c.server, err)
		}
		for i := range list.Items {
			if list.Items[i].Name == machinerecord.CleanupName(c.server, c.uid) {
				return machinerecord.ReadCleanup(&list.Items[i])
			}
		}
		select {
		case <-look.C():
		case <-ctx.Done():
			return machinerecord.Cleanup{}, fmt.Errorf("Server %s: no record of a cleanup: %w", c.server, context.Cause(ctx))
		}
	}
}

// consequence waits until a server that could not be cleaned says so.
func (s *Scenario) consequence(ctx context.Context, name string) string {
	look := s.clock.NewTicker(pace)
	defer look.Stop()
	for {
		said := ""
		s.world.Look(func(state *State) {
			server := state.Servers[name]
			if server == nil || server.Status.State != metalv1.ServerStateError {
				return
			}
			for _, taint := range server.Spec.Taints {
				said = strings.TrimPrefix(said+", "+fmt.Sprintf("%s:%s", taint.Key, taint.Effect), ", ")
			}
		})
		if said != "" {
			return "it is in Error, tainted " + said
		}
		select {
		case <-look.C():
		case <-ctx.Done():
			return "but it is not in Error"
		}
	}
}

// compareDisks puts what the record says of each disk beside what was and is on it.
func compareDisks(c *claimed, made machinerecord.Cleanup) *show.Cleanup {
	out := &show.Cleanup{Mode: string(made.Mode), OK: made.Outcome == machinerecord.Clean, Summary: made.Summary, Disks: []show.WipedDisk{}}
	var after []Disk
	if c.place.Disks != nil {
		after = c.place.Disks()
	}
	for i := range made.Disks {
		d := &made.Disks[i]
		out.Disks = append(out.Disks, show.WipedDisk{
			Path: d.Path, Serial: d.Serial, Method: d.Method, Took: show.Seconds(d.Seconds * float64(time.Second)), Result: d.Result, Why: d.Error,
			Before: traces(c.before, d), After: traces(after, d),
		})
	}
	return out
}

// traces finds what was on the disk that a result is about.
func traces(disks []Disk, of *inspection.DiskCleanup) []string {
	i := slices.IndexFunc(disks, func(d Disk) bool { return d.Serial == of.Serial })
	if i < 0 || len(disks[i].Traces) == 0 {
		return []string{}
	}
	return disks[i].Traces
}
