package biossettings

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// underWay is a step of the first part of the flow, begun a while ago, and what was found since.
func underWay(at step, ago time.Duration, change ...func(*view)) *view {
	obj := wanted(attempts(2))
	v := &view{
		now: begun.Add(ago), obj: obj, flow: flowOf(obj), asked: askedFor(obj), server: &metalv1.Server{},
		system:   &fleet.SystemObservation{System: bmc.System{PowerState: bmc.PowerOn, BIOSVersion: "2.4.1"}, Seen: begun},
		progress: &progress{Asked: askedFor(obj), Item: "first", Step: at, Since: begun, Powered: true},
	}
	for _, c := range change {
		c(v)
	}
	return v
}

// found is what the last job came to.
func found(l look) func(*view) {
	return func(v *view) {
		l.begun, l.asked, l.of = v.now.Add(-time.Second), v.asked, v.progress.Since
		v.looked = &l
	}
}

func has(profile string, count int64) bmc.BIOS {
	return bmc.BIOS{Attributes: map[string]any{"SystemProfile": profile, "BootRetryCount": count, "QuietBoot": false, "AssetTag": ""}}
}

func failures(n int) func(*view) { return func(v *view) { v.progress.Failures = n } }

// TestHowAnAttemptEnds: which step follows, and for what reason an attempt has failed.
func TestHowAnAttemptEnds(t *testing.T) {
	busy := &bmc.Error{Kind: bmc.KindServer, StatusCode: 503}
	refused := &bmc.Error{Kind: bmc.KindRejected, StatusCode: 403}
	old, applied := has("Performance", 3), has("Quiet", 5)
	muttering := old
	muttering.Messages = []string{"SystemProfile depends on ProcVirtualization"}
	for name, tc := range map[string]struct {
		view    *view
		step    step
		item    string
		reason  string
		gaveUp  bool
		says    string
		pending time.Duration // until the next attempt
	}{
		"a BMC that is busy is asked again":      {view: underWay(stepWrite, time.Minute, found(look{err: busy})), step: stepWrite, item: "first"},
		"for a quarter of an hour":               {view: underWay(stepWrite, writeTimeout, found(look{err: busy})), step: stepBegin, reason: reasonWriteFailed, pending: firstRetry},
		"one that refuses":                       {view: underWay(stepWrite, 0, found(look{err: refused})), step: stepBegin, reason: reasonWriteFailed, pending: firstRetry},
		"the pause doubles":                      {view: underWay(stepWrite, 0, failures(1), found(look{err: refused})), step: stepBegin, reason: reasonWriteFailed, pending: 2 * firstRetry},
		"the last attempt":                       {view: underWay(stepWrite, 0, failures(2), found(look{err: refused})), step: stepFinish, reason: reasonWriteFailed, gaveUp: true},
		"what no attempt can change":             {view: underWay(stepWrite, 0, found(look{err: fmt.Errorf("x: %w", reconcileerror.Terminalf(reasonInvalidValue, "no"))})), step: stepFinish, reason: reasonInvalidValue, gaveUp: true},
		"what needs no reset":                    {view: underWay(stepWrite, 0, found(look{bios: applied})), step: stepWrite, item: "second"},
		"what needs one":                         {view: underWay(stepWrite, 0, found(look{bios: old})), step: stepOff, item: "first"},
		"a machine that does not go off":         {view: underWay(stepOff, 0, powerFailed), step: stepBegin, reason: reasonPowerFailed, says: "PowerOff", pending: firstRetry},
		"nor on":                                 {view: underWay(stepOn, 0, powerFailed, func(v *view) { v.system.PowerState = bmc.PowerOff }), step: stepBegin, reason: reasonPowerFailed, says: "PowerOn", pending: firstRetry},
		"verified, and the next":                 {view: underWay(stepVerify, time.Minute, found(look{bios: applied})), step: stepWrite, item: "second"},
		"not yet":                                {view: underWay(stepVerify, verifyTimeout-time.Minute, found(look{bios: old})), step: stepVerify, item: "first"},
		"not in time":                            {view: underWay(stepVerify, verifyTimeout, found(look{bios: muttering})), step: stepBegin, reason: reasonNotVerified, says: "BootRetryCount, SystemProfile", pending: firstRetry},
		"and the firmware says why":              {view: underWay(stepVerify, verifyTimeout, found(look{bios: muttering})), step: stepBegin, reason: reasonNotVerified, says: "depends on ProcVirtualization", pending: firstRetry},
		"the BMC's task failed":                  {view: underWay(stepVerify, time.Minute, found(look{bios: old, task: bmc.Task{State: bmc.TaskFailed, Message: "no power"}})), step: stepBegin, reason: reasonTaskFailed, says: "no power", pending: firstRetry},
		"a BMC that does not tell is asked on":   {view: underWay(stepVerify, time.Minute, found(look{err: busy})), step: stepVerify, item: "first"},
		"a machine that cannot be switched off":  {view: underWay(stepFinish, 0, powerFailed), step: stepFinish, reason: reasonPowerFailed},
		"after all attempts, what the end is of": {view: underWay(stepFinish, 0, powerFailed, func(v *view) { v.progress.GaveUp = true }), step: stepFinish, reason: reasonPowerFailed, gaveUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := tc.view.decide()
			n := p.progress
			if n == nil || n.Step != tc.step || n.Item != tc.item || n.Reason != tc.reason || n.GaveUp != tc.gaveUp || !strings.Contains(n.Message, tc.says) {
				t.Fatalf("progress %v", n)
			}
			var wait time.Duration
			if n.NotBefore != nil {
				wait = n.NotBefore.Sub(tc.view.now)
			}
			if wait != tc.pending {
				t.Errorf("the next attempt in %s, want %s", wait, tc.pending)
			}
		})
	}
}

func powerFailed(v *view) {
	v.power = fleet.CommandStatus{State: fleet.Failed, Err: errors.New("power state not reached in time")}
}

// TestPausesBetweenAttempts: they double up to half an hour, however many there are.
func TestPausesBetweenAttempts(t *testing.T) {
	var pauses []string
	for _, n := range []int{0, 1, 2, 4, 5, 40} {
		v := underWay(stepWrite, 0, failures(n), found(look{err: errors.New("no")}))
		v.obj.Spec.RetryPolicy.MaxAttempts = ptr.To(int32(100))
		p := v.decide()
		pauses = append(pauses, p.progress.NotBefore.Sub(v.now).String())
	}
	if diff := cmp.Diff([]string{"1m0s", "2m0s", "4m0s", "16m0s", "30m0s", "30m0s"}, pauses); diff != "" {
		t.Errorf("pauses (-want +got)\n%s", diff)
	}
}
