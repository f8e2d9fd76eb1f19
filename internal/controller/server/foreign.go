package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// spec.serverMaintenanceRef is a namespace and a name. Operators that look after firmware have a kind ServerMaintenance of their own,
// in an API group of their own, and put its name there. What has the server is then found out: a ServerMaintenance of ours, or one
// that we had granted it to and that is gone, or one of theirs. What cannot be found has the server all the same, since firmware may be
// written this very moment: its reference is removed by whoever set it.

// foreignKinds are the kinds of other operators that are looked up where they are installed. config/manager/rbac.yaml allows it.
var foreignKinds = []schema.GroupVersionKind{
	{Group: "maintenance.metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerMaintenance"},
	{Group: "servermaintenance.metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerMaintenance"},
}

// foreignRepeat is how long what was found out of a foreign maintenance holds. Its operator removes the reference when it is over,
// which is seen at once; this is for where it does not.
const foreignRepeat = 30 * time.Second

// foreign is what is known of a maintenance that is not ours. Its zero value: there is none, or there is none any more.
type foreign struct {
	// group is that of the object; empty: it was not found.
	group string
	// why is why it was not found.
	why string
	// looked is when.
	looked time.Time
}

// has reports whether it has the server.
func (f foreign) has() bool { return f.group != "" || f.why != "" }

// foreigners remembers what was found out, so that news of a BMC are no requests to the API.
type foreigners struct {
	mu sync.Mutex
	by map[string]foreignOf
}

type foreignOf struct {
	ref   metalv1.ObjectReference
	found foreign
}

func (f *foreigners) of(server string, ref metalv1.ObjectReference, now time.Time) (foreign, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.by[server]
	fresh := known && last.ref == ref && now.Before(last.found.looked.Add(foreignRepeat)) && !now.Before(last.found.looked)
	return last.found, fresh
}

func (f *foreigners) note(server string, ref metalv1.ObjectReference, found foreign) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]foreignOf{}
	}
	f.by[server] = foreignOf{ref, found}
}

func (f *foreigners) forget(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.by, server)
}

// lookForeign finds out whether a maintenance that is none of ours has the server. It has not only where the API says of a kind
// that it knows that there is no such object, and none of the other kinds has it or may have it.
func (r *Reconciler) lookForeign(ctx context.Context, server string, ref metalv1.ObjectReference, now time.Time) foreign {
	if found, fresh := r.foreigners.of(server, ref, now); fresh {
		return found
	}
	found := foreign{looked: now}
	gone := 0
	var unknown []string
	for _, kind := range foreignKinds {
		var obj metav1.PartialObjectMetadata
		obj.SetGroupVersionKind(kind)
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &obj)
		switch {
		case err == nil:
			found.group = kind.Group
		case notInstalled(err):
		case apierrors.IsNotFound(err):
			gone++
		default:
			unknown = append(unknown, fmt.Sprintf("%s: %s", kind.Group, apierrors.ReasonForError(err)))
		}
	}
	switch {
	case found.group != "":
	case len(unknown) > 0:
		found.why = "it cannot be looked up in " + strings.Join(unknown, ", ")
	case gone == 0:
		found.why = "no other kind that is known here is installed"
	}
	r.foreigners.note(server, ref, found)
	return found
}

// notInstalled reports whether the API does not know the kind at all. Where it did a moment ago, it answers as a server does that
// knows no such URL.
func notInstalled(err error) bool {
	return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// handsOff leaves a machine to whoever works on it, and looks now and then whether that is over.
func (v *View) handsOff(p *Plan) {
	p.after(v.Now, v.Foreign.looked.Add(foreignRepeat))
}

// foreignMaintenance says who works on the server, or that nobody does any more.
func foreignMaintenance(v *View) metav1.Condition {
	c := metav1.Condition{Type: conditionForeignMaintenance, Status: metav1.ConditionTrue}
	ref := v.Server.Spec.ServerMaintenanceRef
	switch {
	case v.Foreign.group != "":
		c.Reason = "Found"
		c.Message = fmt.Sprintf("ServerMaintenance %s/%s of %s has the server; nothing is done to the machine until it is gone, or spec.serverMaintenanceRef is removed", ref.Namespace, ref.Name, v.Foreign.group)
	case v.Foreign.has():
		c.Reason = "NotFound"
		c.Message = fmt.Sprintf("spec.serverMaintenanceRef: there is no ServerMaintenance %s/%s of %s, and %s. Somebody may work on the machine: nothing is done to it until spec.serverMaintenanceRef is removed",
			ref.Namespace, ref.Name, metalv1.GroupVersion.Group, v.Foreign.why)
	default:
		c.Status, c.Reason = metav1.ConditionFalse, "Ended"
	}
	return c
}

// tellForeign tells once that a server is left to somebody else.
func (r *Reconciler) tellForeign(v *View, before []metav1.Condition) {
	is := apimeta.FindStatusCondition(v.Server.Status.Conditions, conditionForeignMaintenance)
	if is == nil || is.Status != metav1.ConditionTrue || apimeta.IsStatusConditionTrue(before, conditionForeignMaintenance) {
		return
	}
	r.Recorder.Eventf(v.Server, nil, corev1.EventTypeNormal, conditionForeignMaintenance, conditionForeignMaintenance, "%s", is.Message)
}
