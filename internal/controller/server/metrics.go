package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// census counts servers by state, and those that are late. It is a prometheus.Collector without a label per server. Its
// zero value is ready.
type census struct {
	mu sync.Mutex
	by map[string]counted
}

type counted struct {
	state metalv1.ServerState
	late  bool
	// since is when this process saw the server enter the state; zero: it was in it already.
	since time.Time
}

var (
	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "farrier_server_transitions_total",
		Help: "Servers that went from one state to another.",
	}, []string{"from", "to"})
	stays = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "farrier_server_state_duration_seconds",
		Help:    "How long servers were in a state that they have left, of those that this process saw entering it.",
		Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600},
	}, []string{"state"})

	serversDesc = prometheus.NewDesc("farrier_servers", "Servers by state.", []string{"state"}, nil)
	lateDesc    = prometheus.NewDesc("farrier_servers_late", "Servers that have been longer in their state than is usual, or whose machine does not follow a power command.", []string{"state"}, nil)
)

func init() { metrics.Registry.MustRegister(changes, stays) }

// note takes down where a server is at a time, and reports whether it has just become late.
func (c *census) note(name string, state metalv1.ServerState, late bool, now time.Time) (becameLate bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]counted{}
	}
	was, known := c.by[name]
	is := counted{state: state, late: late, since: was.since}
	if known && was.state != state {
		is.since = now
		left(was, state, now)
	}
	c.by[name] = is
	return late && (!was.late || was.state != state)
}

// left counts a server that has left a state for another.
func left(was counted, to metalv1.ServerState, now time.Time) {
	changes.WithLabelValues(string(was.state), string(to)).Inc()
	if !was.since.IsZero() {
		stays.WithLabelValues(string(was.state)).Observe(now.Sub(was.since).Seconds())
	}
}

func (c *census) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, name)
}

// Describe implements prometheus.Collector.
func (c *census) Describe(ch chan<- *prometheus.Desc) {
	ch <- serversDesc
	ch <- lateDesc
}

// Collect implements prometheus.Collector. Every state is there, at 0 too, so that an alert can be written on it.
func (c *census) Collect(ch chan<- prometheus.Metric) {
	all, late := map[metalv1.ServerState]int{}, map[metalv1.ServerState]int{}
	c.mu.Lock()
	for _, s := range c.by {
		all[s.state]++
		if s.late {
			late[s.state]++
		}
	}
	c.mu.Unlock()
	for _, s := range states {
		ch <- prometheus.MustNewConstMetric(serversDesc, prometheus.GaugeValue, float64(all[s.state]), string(s.state))
		ch <- prometheus.MustNewConstMetric(lateDesc, prometheus.GaugeValue, float64(late[s.state]), string(s.state))
	}
}

// publish shows the census among metrics, nil: those of the process, for as long as the manager runs.
func (c *census) publish(mgr ctrl.Manager, in prometheus.Registerer) error {
	if in == nil {
		in = metrics.Registry
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := in.Register(c); err != nil {
			return fmt.Errorf("metrics of servers: %w", err)
		}
		defer in.Unregister(c)
		<-ctx.Done()
		return nil
	}))
}
