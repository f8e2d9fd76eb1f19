package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	// label is on the server that is updated alone.
	label   = "example.org/alone"
	policy  = "careful"
	version = "2.20.0"
	// quiet is a poll interval that is longer than a run, so that requests are those of the updates.
	quiet    = 24 * time.Hour
	fastPoll = time.Second
)

// findings are what is printed and kept.
type findings struct {
	Onboarding time.Duration `json:"onboardingNanoseconds"`
	Alone      rollout       `json:"alone"`
	Fleet      rollout       `json:"fleet"`
}

// rollout is one of the two.
type rollout struct {
	Servers int           `json:"servers"`
	Took    time.Duration `json:"tookNanoseconds"`
	// RequestsPerBMC is the mean, MostRequests the largest number of requests to a BMC that was updated.
	RequestsPerBMC float64 `json:"requestsPerBMC"`
	MostRequests   int     `json:"requestsToOneBMCMost"`
	// MostUnavailable is how many servers were not Available at once.
	MostUnavailable int `json:"unavailableMost"`
	// Fetched is how often the image was fetched from where it is published.
	Fetched int `json:"imageFetched"`
}

func measure(ctx context.Context, c config) (found findings, err error) {
	var fetched atomic.Int64
	published := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		_, _ = io.WriteString(w, "BIOS "+version)
	}))
	defer published.Close()
	addresses, err := site.FreeAddresses(ctx, 1)
	if err != nil {
		return found, err
	}
	s, err := site.Start(ctx, site.Config{
		Binaries: c.binaries, BMCs: c.Servers, Timing: c.Timing, PollInterval: quiet, FastPoll: fastPoll,
		ManagerFlags: []string{"--firmware-address", addresses[0]},
	})
	if err != nil {
		return found, err
	}
	defer func() {
		if stopped := s.Stop(); stopped != nil {
			fmt.Fprintln(os.Stderr, "after the run:", stopped)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	began := time.Now()
	if err := s.CreateEndpoints(ctx); err != nil {
		return found, err
	}
	if err := s.Await(ctx, c.Servers, time.Second, s.API.Available); err != nil {
		return found, fmt.Errorf("available: %w", err)
	}
	found.Onboarding = time.Since(began)
	b := &bench{Site: s, config: c, image: published.URL + "/bios-" + version + ".bin", fetched: &fetched}
	if err := b.prepare(ctx); err != nil {
		return found, err
	}
	if found.Alone, err = b.update(ctx, "alone", 1, metav1.LabelSelectorOpExists); err != nil {
		return found, fmt.Errorf("one server: %w", err)
	}
	if found.Fleet, err = b.update(ctx, "fleet", c.Servers-1, metav1.LabelSelectorOpDoesNotExist); err != nil {
		return found, fmt.Errorf("the others: %w", err)
	}
	return found, nil
}

type bench struct {
	*site.Site
	config  config
	image   string
	fetched *atomic.Int64
}

// prepare makes the policy, and labels the server that is updated alone.
func (b *bench) prepare(ctx context.Context) error {
	p := &farrierv1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}}
	budget := intstr.FromInt32(int32(b.config.MaxUnavailable))
	p.Spec.MaxUnavailable.Fleet = &budget
	if err := b.API.Create(ctx, p); err != nil {
		return fmt.Errorf("create the RolloutPolicy: %w", err)
	}
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: b.Rack.BMCs[0].Name + "-system-0"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, label))
	if err := b.API.Patch(ctx, server, patch); err != nil {
		return fmt.Errorf("label a Server: %w", err)
	}
	return nil
}

// update updates the servers with the label or those without it, and says what that came to.
func (b *bench) update(ctx context.Context, name string, servers int, which metav1.LabelSelectorOperator) (r rollout, err error) {
	before, _, err := b.Rack.Machines()
	if err != nil {
		return r, err
	}
	fetched := b.fetched.Load()
	set := &metalv1.BIOSVersionSet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{metalv1.AnnotationRolloutPolicy: policy}}}
	set.Spec.ServerSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: label, Operator: which}}
	set.Spec.BIOSVersionTemplate.VersionTemplate = metalv1.VersionTemplate{
		Version: version, Image: metalv1.ImageSpec{URI: b.image}, ServerMaintenancePolicy: metalv1.ServerMaintenancePolicyEnforced,
	}
	most, err := b.watch(ctx)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := b.API.Create(ctx, set); err != nil {
		return r, fmt.Errorf("create the BIOSVersionSet: %w", err)
	}
	err = b.Await(ctx, servers, time.Second, func(ctx context.Context) (int, error) { return b.completed(ctx, set, began) })
	if err != nil {
		return r, err
	}
	r.Servers, r.Took, r.Fetched = servers, time.Since(began), int(b.fetched.Load()-fetched)
	if r.MostUnavailable, err = most(); err != nil {
		return r, err
	}
	after, _, err := b.Rack.Machines()
	if err != nil {
		return r, err
	}
	sum, first, last := 0, 1, len(after)
	if servers == 1 {
		first, last = 0, 1
	}
	for i := first; i < last; i++ {
		n := after[i].Requests - before[i].Requests
		sum += n
		r.MostRequests = max(r.MostRequests, n)
	}
	r.RequestsPerBMC = float64(sum) / float64(servers)
	return r, nil
}

// completed is how many servers of a Set have the version, and are Available again.
func (b *bench) completed(ctx context.Context, set *metalv1.BIOSVersionSet, began time.Time) (int, error) {
	if err := b.API.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return 0, err
	}
	if set.Status.FailedBIOSVersion > 0 {
		return 0, fmt.Errorf("%d updates have failed", set.Status.FailedBIOSVersion)
	}
	n := int(set.Status.CompletedBIOSVersion)
	if elapsed := time.Since(began); int(elapsed.Seconds())%10 == 0 {
		fmt.Fprintf(os.Stderr, "%s: %d updated after %s\n", set.Name, n, elapsed.Round(time.Second))
	}
	if n == 0 {
		return 0, nil
	}
	available, err := b.API.Available(ctx)
	return min(n, available), err
}

// watch follows how many servers are not Available. What it returns ends it, and says how many there were at most.
func (b *bench) watch(ctx context.Context) (func() (int, error), error) {
	var list metalv1.ServerList
	if err := b.API.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Servers: %w", err)
	}
	w, err := b.API.Watch(ctx, &metalv1.ServerList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return nil, fmt.Errorf("watch Servers: %w", err)
	}
	most, broken := 0, false
	var ending atomic.Bool
	var watching sync.WaitGroup
	watching.Go(func() {
		away := map[string]bool{}
		for e := range w.ResultChan() {
			server, ok := e.Object.(*metalv1.Server)
			if !ok || e.Type == watch.Error {
				broken = broken || !ending.Load()
				continue
			}
			if delete(away, server.Name); server.Status.State != metalv1.ServerStateAvailable {
				away[server.Name] = true
			}
			most = max(most, len(away))
		}
	})
	return func() (int, error) {
		ending.Store(true)
		w.Stop()
		watching.Wait()
		if broken {
			return 0, fmt.Errorf("the watch of Servers broke off")
		}
		return most, nil
	}, nil
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t| %v\t|\n", cells...) }
	line("what", "one server", fmt.Sprintf("%d servers", f.Fleet.Servers), "promise")
	line("---", "---", "---", "---")
	a, b := f.Alone, f.Fleet
	line("took", a.Took.Round(100*time.Millisecond), b.Took.Round(100*time.Millisecond), "")
	line("requests per BMC, mean", fmt.Sprintf("%.1f", a.RequestsPerBMC), fmt.Sprintf("%.1f", b.RequestsPerBMC), "")
	line("beside one server", "", fmt.Sprintf("%.2f", b.RequestsPerBMC/a.RequestsPerBMC), "≤ 1.10")
	line("requests to one BMC, most", a.MostRequests, b.MostRequests, "")
	line("unavailable at once, most", a.MostUnavailable, b.MostUnavailable, fmt.Sprint("≤ ", c.MaxUnavailable))
	line("times the image was fetched", a.Fetched, b.Fetched, 1)
	_ = t.Flush()
}
