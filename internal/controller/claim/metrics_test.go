package claim

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// TestAWaitCountsOnce: when the claim is bound, and not again while it is.
func TestAWaitCountsOnce(t *testing.T) {
	api := controllertest.NewAPI(t, busy("a"), newClaim("c"))
	r := newReconciler(api)
	began := waited(t)
	api.Settle(t, r, "ns/c")
	if got := waited(t); got.GetSampleCount() != began.GetSampleCount() {
		t.Errorf("a claim that waits has counted %d times", got.GetSampleCount()-began.GetSampleCount())
	}
	r.clock.Step(90 * time.Second)
	made := readClaim(t, api, "c").CreationTimestamp.Time
	api.Add(t, free("b"))
	controllertest.ChangeStatus(t, api, "b", becomesFree)
	api.Settle(t, r, "ns/c")
	api.Settle(t, r, "ns/c")
	got, want := waited(t), max(0, r.clock.Since(made).Seconds())
	if n := got.GetSampleCount() - began.GetSampleCount(); n != 1 {
		t.Errorf("counted %d times", n)
	}
	if sum := got.GetSampleSum() - began.GetSampleSum(); math.Abs(sum-want) > 1e-3 {
		t.Errorf("waited %g s, want %g", sum, want)
	}
}

func waited(t *testing.T) *dto.Histogram {
	t.Helper()
	var m dto.Metric
	if err := waits.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram()
}

// TestClaimsThatWaitAreCountedByReason, and no longer when they are bound or gone.
func TestClaimsThatWaitAreCountedByReason(t *testing.T) {
	api := controllertest.NewAPI(t, busy("a"), newClaim("c"), newClaim("d"))
	r := newReconciler(api)
	counts := func(busy int) {
		t.Helper()
		want := fmt.Sprintf("# HELP farrier_claims_waiting Claims that have no server, by the reason that their condition Bound has.\n"+
			"# TYPE farrier_claims_waiting gauge\n"+
			"farrier_claims_waiting{reason=\"AllMatchingServersBusy\"} %d\nfarrier_claims_waiting{reason=\"NoMatchingServer\"} 0\n", busy)
		if err := testutil.CollectAndCompare(&r.waiting, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	}
	counts(0)
	api.Settle(t, r, "ns/c")
	api.Settle(t, r, "ns/d")
	api.Settle(t, r, "ns/d")
	counts(2)
	if err := api.Delete(t.Context(), readClaim(t, api, "d")); err != nil {
		t.Fatal(err)
	}
	api.Settle(t, r, "ns/d")
	counts(1)
	api.Add(t, free("b"))
	controllertest.ChangeStatus(t, api, "b", becomesFree)
	r.clock.Step(time.Minute)
	api.Settle(t, r, "ns/c")
	counts(0)
}
