package events

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// An event is a write to the API. A claim that boots makes some ten, so ten thousand claims at once would cost as many writes for events alone as for
// everything else. Events tell people; conditions say the same for programs. So their number in time is bounded, for all controllers together.
const (
	// perSecond and burst are those of each type: what goes well does not cost what goes wrong its event.
	perSecond = 20
	burst     = 1000
)

const (
	sent    = "sent"
	dropped = "dropped"
)

var counts = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "farrier_events_total",
	Help: "Kubernetes Events of Farrier's controllers.",
}, []string{"type", "outcome"})

func init() { metrics.Registry.MustRegister(counts) }

// Budget is what events may cost all controllers together.
type Budget struct {
	normal, warning flowcontrol.PassiveRateLimiter
}

// NewBudget makes a full Budget.
func NewBudget(c clock.PassiveClock) *Budget {
	return &Budget{flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(perSecond, burst, c), flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(perSecond, burst, c)}
}

// Recorder is r within the budget: what is beyond it is dropped and counted.
func (b *Budget) Recorder(r events.EventRecorder) events.EventRecorder { return limited{r, b} }

type limited struct {
	events.EventRecorder
	*Budget
}

// Eventf records an event, or drops it.
func (l limited) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	budget := l.normal
	if kind == corev1.EventTypeWarning {
		budget = l.warning
	}
	if !budget.TryAccept() {
		counts.WithLabelValues(kind, dropped).Inc()
		return
	}
	counts.WithLabelValues(kind, sent).Inc()
	l.EventRecorder.Eventf(about, related, kind, reason, action, note, args...)
}
