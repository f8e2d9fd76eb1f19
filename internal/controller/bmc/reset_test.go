package bmc

import (
	"errors"
	"testing"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var (
	errHangs  = &bmc.Error{Kind: bmc.KindTimeout, Op: "GET", Message: "no answer in time"}
	errItself = &bmc.Error{Kind: bmc.KindServer, Op: "GET", StatusCode: 500}
	// errUntrustedPeer is a certificate that is not good.
	errUntrustedPeer = &bmc.Error{Kind: bmc.KindUntrusted, Op: "GET", Message: "x509: certificate signed by unknown authority"}
	errRefuses       = &bmc.Error{Kind: bmc.KindAuthentication, Op: "GET", StatusCode: 401}
)

func TestWhatARestartDoesNext(t *testing.T) {
	now := controllertest.Start
	graceful, force, auto := metalv1.OperationGracefulRestartBMC, metalv1.OperationForceRestartBMC, operationAutoReset
	well := fleet.Observation{Sequence: 1, Time: now}
	hangs := fleet.Observation{Err: errHangs}
	told := func(d time.Duration) reset {
		return reset{operation: graceful, method: methodRedfish, sent: now.Add(-d)}
	}
	looked := told(settleTime)
	looked.looked = true
	for name, tc := range map[string]struct {
		reset  reset
		view   resetView
		step   resetStep
		method resetMethod
	}{
		"Redfish while it answers":                 {reset{operation: graceful}, resetView{ssh: true, observation: well}, stepSubmit, methodRedfish},
		"SSH where it does not":                    {reset{operation: graceful}, resetView{ssh: true, observation: hangs}, stepSubmit, methodSSH},
		"Redfish where there is no other":          {reset{operation: graceful}, resetView{observation: hangs}, stepSubmit, methodRedfish},
		"force is SSH":                             {reset{operation: force}, resetView{ssh: true, observation: well}, stepSubmit, methodSSH},
		"or nothing":                               {reset{operation: force}, resetView{observation: well}, stepFail, methodNone},
		"unasked over SSH":                         {reset{operation: auto}, resetView{ssh: true, observation: hangs}, stepSubmit, methodSSH},
		"unasked over Redfish if that answers":     {reset{operation: auto}, resetView{ssh: true, observation: fleet.Observation{Err: errItself}}, stepSubmit, methodRedfish},
		"the end is awaited":                       {reset{operation: graceful, method: methodRedfish}, resetView{ssh: true}, stepAwait, methodRedfish},
		"then it is noted":                         {reset{operation: graceful, method: methodRedfish}, resetView{ended: true, at: now}, stepSent, methodRedfish},
		"SSH after Redfish":                        {reset{operation: graceful, method: methodRedfish}, resetView{ssh: true, ended: true, err: errItself}, stepSubmit, methodSSH},
		"if there is SSH":                          {reset{operation: graceful, method: methodRedfish}, resetView{ended: true, err: errItself}, stepFail, methodRedfish},
		"nothing where who answers is not trusted": {reset{operation: graceful}, resetView{ssh: true, observation: fleet.Observation{Err: errUntrustedPeer}}, stepFail, methodNone},
		"nor by force":                             {reset{operation: force}, resetView{ssh: true, observation: fleet.Observation{Err: errUntrustedPeer}}, stepFail, methodNone},
		"nor unasked":                              {reset{operation: auto}, resetView{ssh: true, observation: fleet.Observation{Err: errUntrustedPeer}}, stepFail, methodNone},
		"nor where Redfish found that out":         {reset{operation: graceful, method: methodRedfish}, resetView{ssh: true, ended: true, err: errUntrustedPeer}, stepFail, methodRedfish},
		"nothing after SSH":                        {reset{operation: graceful, method: methodSSH}, resetView{ssh: true, ended: true, err: errors.New("no")}, stepFail, methodSSH},
		"an answer too early is not believed":      {told(settleTime - 1), resetView{observation: well}, stepSettle, methodRedfish},
		"then the BMC is asked":                    {told(settleTime), resetView{observation: well}, stepLook, methodRedfish},
		"an old answer is none":                    {looked, resetView{observation: fleet.Observation{Time: now.Add(-1)}}, stepSettle, methodRedfish},
		"a new one ends it":                        {looked, resetView{observation: well}, stepComplete, methodRedfish},
		"an error does not":                        {looked, resetView{observation: fleet.Observation{Time: now, Err: errHangs}}, stepSettle, methodRedfish},
	} {
		t.Run(name, func(t *testing.T) {
			tc.view.now = now
			step, next := tc.reset.decide(tc.view)
			if step != tc.step || next.method != tc.method {
				t.Errorf("%s over %q, want %s over %q", step, next.method, tc.step, tc.method)
			}
			if step == stepSent && !next.sent.Equal(now) {
				t.Errorf("sent at %s", next.sent)
			}
		})
	}
}

func TestWhenABMCIsRestartedUnasked(t *testing.T) {
	const delay = 10 * time.Minute
	since := controllertest.Start
	for name, tc := range map[string]struct {
		delay time.Duration
		err   error
		last  time.Time
		want  time.Time // zero: never
	}{
		"it hangs":              {delay, errHangs, time.Time{}, since.Add(delay)},
		"it has errors":         {delay, errItself, time.Time{}, since.Add(delay)},
		"restarted since":       {delay, errHangs, since.Add(time.Hour), since.Add(time.Hour + delay)},
		"restarted before":      {delay, errHangs, since.Add(-time.Hour), since.Add(delay)},
		"it refuses a password": {delay, errRefuses, time.Time{}, time.Time{}},
		"it is not trusted":     {delay, errUntrustedPeer, time.Time{}, time.Time{}},
		"it is well":            {delay, nil, time.Time{}, time.Time{}},
		"nobody wants it":       {0, errHangs, time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			at, ever := due(tc.delay, fleet.Observation{Err: tc.err, ErrSince: since}, tc.last)
			if ever == tc.want.IsZero() || !at.Equal(tc.want) {
				t.Errorf("at %s (%v), want %s", at, ever, tc.want)
			}
		})
	}
}

func TestABrokenConnectionIsARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		status fleet.CommandStatus
		want   bool
	}{
		"accepted":            {fleet.CommandStatus{State: fleet.Succeeded, Sent: bmc.ResetGracefulRestart}, true},
		"broken after it":     {fleet.CommandStatus{State: fleet.Failed, Sent: bmc.ResetGracefulRestart, Err: errHangs}, true},
		"broken before it":    {fleet.CommandStatus{State: fleet.Failed, Err: errHangs}, false},
		"refused":             {fleet.CommandStatus{State: fleet.Failed, Sent: bmc.ResetGracefulRestart, Err: errItself}, false},
		"refused by password": {fleet.CommandStatus{State: fleet.Failed, Sent: bmc.ResetGracefulRestart, Err: errRefuses}, false},
	} {
		if got := told(tc.status) == nil; got != tc.want {
			t.Errorf("%s: told? %v", name, got)
		}
	}
}
