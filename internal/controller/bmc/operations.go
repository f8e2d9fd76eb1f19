package bmc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var (
	errNoMethod = errors.New("BMCs of this make cannot be restarted over SSH")
	// errUntrusted comes with a bmc.KindUntrusted.
	errUntrusted = errors.New("the certificate is not trusted, so Farrier sends no password by any method")
	errUnknown   = errors.New("the result of the operation is unknown")
)

// resets are the restarts that this process has begun. One that an annotation tells of and that is not
// here was begun by a process that is no more: nobody knows what became of it.
type resets struct {
	mu    sync.Mutex
	begun map[types.UID]*reset
	// failed is when a restart that nobody asked for could not be done.
	failed map[types.UID]time.Time
}

func (r *resets) of(uid types.UID) (*reset, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.begun[uid]
	return p, ok
}

func (r *resets) set(uid types.UID, p *reset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun, r.failed = map[types.UID]*reset{}, map[types.UID]time.Time{}
	}
	if delete(r.begun, uid); p != nil {
		r.begun[uid] = p
	}
}

func (r *resets) failedAt(uid types.UID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[uid]
}

func (r *resets) fail(uid types.UID, at time.Time) {
	r.set(uid, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[uid] = at
}

// operate takes the operation that the annotation asks for. It reports whether there was one: its
// write wakes the BMC again.
func (r *Reconciler) operate(ctx context.Context, obj *metalv1.BMC) (bool, error) {
	operation, asked := metalv1.OperationOf(obj)
	if !asked {
		return false, nil
	}
	switch operation {
	case metalv1.OperationGracefulRestartBMC, metalv1.OperationForceRestartBMC, metalv1.OperationRotateCredentials:
		if _, busy := obj.Annotations[metalv1.AnnotationOperationStarted]; busy {
			return false, nil // when that has ended
		}
		if operation == metalv1.OperationRotateCredentials {
			return true, r.beginRotation(ctx, obj)
		}
		return true, r.begin(ctx, obj, operation)
	}
	before := obj.DeepCopy()
	delete(obj.Annotations, metalv1.AnnotationOperation)
	if operation == metalv1.OperationRetry {
		delete(obj.Annotations, metalv1.AnnotationRotationRefused)
		delete(obj.Annotations, metalv1.AnnotationRotationTried)
	}
	if err := r.patch(ctx, obj, before); err != nil {
		return true, err
	}
	if operation == metalv1.OperationRetry {
		r.hangUp(obj.Name)
		r.rotations.AskAnew(obj.UID)
		r.event(obj, corev1.EventTypeNormal, "Retried", "Connecting again, as requested")
		return true, nil
	}
	r.event(obj, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on a BMC", operation))
	return true, nil
}

// begin notes, before anything is done, that a restart was begun: it happens at most once.
func (r *Reconciler) begin(ctx context.Context, obj *metalv1.BMC, operation string) error {
	before := obj.DeepCopy()
	started := operation + "@" + obj.ResourceVersion
	if asked, _ := metalv1.OperationOf(obj); asked == operation {
		delete(obj.Annotations, metalv1.AnnotationOperation)
	}
	metav1.SetMetaDataAnnotation(&obj.ObjectMeta, metalv1.AnnotationOperationStarted, started)
	r.resets.set(obj.UID, &reset{started: started, operation: operation})
	return r.patch(ctx, obj, before)
}

// advanceReset takes a restart as far as it goes now, or begins one of a BMC that does not answer for long.
func (r *Reconciler) advanceReset(ctx context.Context, s *scope) error {
	started, running := s.obj.Annotations[metalv1.AnnotationOperationStarted]
	if !running {
		return r.resetSilent(ctx, s)
	}
	if isRotation(started) {
		return nil
	}
	p, known := r.resets.of(s.obj.UID)
	if !known || p.started != started {
		return r.outcomeUnknown(ctx, s, started)
	}
	s.reset = p
	if s.unresolved != nil {
		return nil // whom to ask, or as whom, is not known; the restart waits
	}
	for {
		v := resetView{now: r.Clock.Now(), ssh: r.SSH != nil && r.makeOf(s) != bmcreset.None, observation: s.observation}
		sent := r.outcome(s, p, &v)
		if errors.Is(v.err, errUnknown) {
			return r.outcomeUnknown(ctx, s, started)
		}
		step, next := p.decide(v)
		if done, err := r.take(ctx, s, step, &next, v, sent); done || err != nil {
			return err
		}
		p = &next
	}
}

// take does one step of a restart. It reports whether there is nothing more to do now.
func (r *Reconciler) take(ctx context.Context, s *scope, step resetStep, p *reset, v resetView, sent string) (done bool, err error) {
	s.reset = p
	switch step {
	case stepAwait:
	case stepSubmit:
		if err := r.submit(s, p); err != nil {
			return true, fmt.Errorf("restart the BMC over %s: %w", p.method, err)
		}
	case stepSent:
		if err := r.rememberSent(ctx, s, p); err != nil {
			return true, err
		}
	case stepLook:
		r.Fleet.Refresh(fleet.Key(s.target.Endpoint.Key()))
	case stepSettle:
		s.again(max(checkEvery, p.sent.Add(settleTime).Sub(v.now)))
	case stepComplete:
		return true, r.end(ctx, s, corev1.EventTypeNormal, metalv1.ReasonResetComplete, "The BMC answers again after its restart")
	case stepFail:
		s.resetErr = failure(s.obj.Name, v)
		return true, r.end(ctx, s, corev1.EventTypeWarning, resetReason(s.resetErr), "The BMC could not be restarted: "+s.resetErr.Error())
	}
	r.resets.set(s.obj.UID, p)
	if step == stepSent && sent != "" && sent != string(bmc.ResetGracefulRestart) {
		r.event(s.obj, corev1.EventTypeNormal, "NearestReset", "The BMC does not offer GracefulRestart. Farrier sent "+sent)
	}
	return step == stepAwait || step == stepSettle, nil
}

// failure returns why no method has worked, and for a host key what a person can do.
func failure(name string, v resetView) error {
	key, unaccepted := errors.AsType[*bmcssh.HostKeyError](v.err)
	switch {
	case unaccepted && key.Changed:
		return fmt.Errorf("%w; no password was sent. If the new key is the BMC's: kubectl annotate --overwrite bmc %s %s=%s",
			v.err, name, metalv1.AnnotationSSHHostKey, key.Fingerprint)
	case unaccepted:
		return fmt.Errorf("%w; no password was sent. Compare the key with the one that the BMC shows, then: kubectl annotate bmc %s %s=%s",
			v.err, name, metalv1.AnnotationSSHHostKey, key.Fingerprint)
	case v.err != nil:
		return v.err
	case bmc.KindOf(v.observation.Err) == bmc.KindUntrusted:
		return fmt.Errorf("%w: %w", errUntrusted, v.observation.Err)
	}
	return errNoMethod
}

// resetReason is what a restart failed for, in one word.
func resetReason(err error) string {
	key, unaccepted := errors.AsType[*bmcssh.HostKeyError](err)
	switch {
	case unaccepted && key.Changed:
		return metalv1.ReasonHostKeyChanged
	case unaccepted:
		return metalv1.ReasonHostKeyUnknown
	case bmc.KindOf(err) == bmc.KindUntrusted:
		return metalv1.ReasonUntrusted
	}
	return metalv1.ReasonResetFailed
}

// outcome looks up the result of the method in use. It returns the reset type that was sent.
func (r *Reconciler) outcome(s *scope, p *reset, v *resetView) string {
	switch p.method {
	case methodRedfish:
		status, known := r.Fleet.Command(fleet.Key(s.target.Endpoint.Key()), p.id(s.obj))
		if !known && p.sent.IsZero() {
			v.err = errUnknown
		} else if status.State.Ended() {
			v.ended, v.at, v.err = true, status.End, told(status)
		}
		return string(status.Sent)
	case methodSSH:
		if result, ended := r.SSH.Result(p.id(s.obj)); ended {
			v.ended, v.at, v.err = true, result.End, result.Err
		}
	}
	return ""
}

func (p *reset) id(obj *metalv1.BMC) string {
	return strings.Join([]string{string(obj.UID), p.started, string(p.method)}, "/")
}

// resetBudget is how long a BMC that answers may take to accept its restart.
const resetBudget = time.Minute

func (r *Reconciler) submit(s *scope, p *reset) error {
	if p.method == methodRedfish {
		return r.Fleet.Submit(fleet.Key(s.target.Endpoint.Key()), fleet.Command{
			ID: p.id(s.obj), Kind: fleet.ResetManager, Reset: bmc.ResetGracefulRestart, Budget: resetBudget,
			Account: throttle.Account(throttle.KindBMC, s.obj.Name),
		})
	}
	request := bmcreset.Request{
		Name: s.obj.Name, ID: p.id(s.obj), Make: r.makeOf(s), Host: s.target.Endpoint.Host, Credentials: s.target.Credentials,
		HostKey: s.obj.Annotations[metalv1.AnnotationSSHHostKey],
	}
	if c := s.obj.Spec.ConsoleProtocol; c != nil && strings.HasPrefix(string(c.Name), string(metalv1.ConsoleProtocolSSH)) {
		request.Port = int(c.Port)
	}
	return r.SSH.Submit(request)
}

// shownMake is who made the BMC, as it says itself.
func shownMake(o fleet.Observation) bmcreset.Make {
	names := []string{o.Manager.Manufacturer, string(o.Manager.Vendor)}
	for i := range o.Systems {
		names = append(names, string(o.Systems[i].Vendor), o.Systems[i].Manufacturer)
	}
	return bmcreset.MakeOf(names...)
}

// makeOf is who made the BMC: what it says itself or said before, or else what its MAC address tells.
func (r *Reconciler) makeOf(s *scope) bmcreset.Make {
	names := []string{string(shownMake(s.observation)), s.obj.Annotations[metalv1.AnnotationMake], s.obj.Status.Manufacturer}
	if r.Prefixes != nil {
		entry, _ := r.Prefixes.Lookup(s.target.Address.MAC)
		names = append(names, entry.Manufacturer)
	}
	return bmcreset.MakeOf(names...)
}

// rememberSent writes down when the BMC was told to restart.
func (r *Reconciler) rememberSent(ctx context.Context, s *scope, p *reset) error {
	before := s.obj.DeepCopy()
	metav1.SetMetaDataAnnotation(&s.obj.ObjectMeta, metalv1.AnnotationLastReset, p.sent.UTC().Format(time.RFC3339))
	return r.patch(ctx, s.obj, before)
}

// end takes the note of a restart away and tells how it ended.
func (r *Reconciler) end(ctx context.Context, s *scope, kind, reason, message string) error {
	before := s.obj.DeepCopy()
	delete(s.obj.Annotations, metalv1.AnnotationOperationStarted)
	if err := r.patch(ctx, s.obj, before); err != nil {
		return err
	}
	if reason != metalv1.ReasonResetComplete && reason != metalv1.ReasonOperationOutcomeUnknown {
		r.resets.fail(s.obj.UID, r.Clock.Now())
	} else {
		r.resets.set(s.obj.UID, nil)
	}
	s.reset = nil
	r.event(s.obj, kind, reason, message)
	return nil
}

// outcomeUnknown gives up an operation that was begun before a restart of ours: it may have been
// done, so it is not done again.
func (r *Reconciler) outcomeUnknown(ctx context.Context, s *scope, started string) error {
	operation, _, _ := strings.Cut(started, "@")
	return r.end(ctx, s, corev1.EventTypeWarning, metalv1.ReasonOperationOutcomeUnknown,
		fmt.Sprintf("Operation %.64q began before Farrier restarted. Its result is unknown, and Farrier does not repeat it", operation))
}

// resetSilent begins the restart of a BMC that has failed for too long.
func (r *Reconciler) resetSilent(ctx context.Context, s *scope) error {
	if s.unresolved != nil {
		return nil
	}
	last := lastReset(s.obj)
	if failed := r.resets.failedAt(s.obj.UID); failed.After(last) {
		last = failed
	}
	at, ever := due(r.FailureResetDelay, s.observation, last)
	if !ever {
		return nil
	}
	if wait := at.Sub(r.Clock.Now()); wait > 0 {
		s.again(wait)
		return nil
	}
	if err := r.begin(ctx, s.obj, operationAutoReset); err != nil {
		return err
	}
	r.event(s.obj, corev1.EventTypeWarning, metalv1.ReasonAutoResetting, "The BMC has failed for too long, restarting it: "+s.observation.Err.Error())
	return r.advanceReset(ctx, s)
}

// lastReset is when the BMC was last told to restart, zero if never.
func lastReset(obj *metalv1.BMC) time.Time {
	at, err := time.Parse(time.RFC3339, obj.Annotations[metalv1.AnnotationLastReset])
	if err != nil {
		return time.Time{}
	}
	return at
}
