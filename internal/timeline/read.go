package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/boottrace"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// Source is where a timeline is read from.
type Source struct {
	API client.Reader
	// Boots asks the operator address.
	Boots func(ctx context.Context, uuid string) (operator.Boots, error)
	// Logbook asks it what was done to a machine and seen of it; nil: nobody is asked.
	Logbook func(ctx context.Context, name string) ([]logbook.Entry, error)
	// Namespace is the manager's.
	Namespace string
}

// Read gathers what is known of a server; nil means a machine that no Server stands for, of which the UUID alone is known. The error is
// that of the operator address. What a user may not read of the rest is in Missing.
func (s Source) Read(ctx context.Context, server *metalv1.Server, uuid string) (*Timeline, error) {
	t := &Timeline{UUID: uuid, Entries: []Entry{}}
	boots := operator.Boots{}
	if uuid != "" { // a machine without one is recorded under none
		var err error
		if boots, err = s.Boots(ctx, uuid); err != nil {
			return nil, err
		}
	}
	t.requests(boots)
	if server != nil {
		s.server(ctx, t, server, boots)
	}
	s.logged(ctx, t, boots)
	t.sort()
	return t, nil
}

// about is an object that a timeline tells of.
type about struct {
	client.Object
	kind       string
	conditions []metav1.Condition
	// delivered is the boot attempt that its conditions about deliveries refer to.
	delivered string
}

// String names it as people do. There is one Server in a timeline.
func (a about) String() string {
	switch {
	case a.kind == kindServer:
		return a.kind
	case a.GetNamespace() == "":
		return a.kind + " " + a.GetName()
	}
	return a.kind + " " + a.GetNamespace() + "/" + a.GetName()
}

const kindServer = "Server"

func (s Source) server(ctx context.Context, t *Timeline, server *metalv1.Server, boots operator.Boots) {
	t.Server, t.State, t.Power = server.Name, string(server.Status.State), string(server.Status.PowerState)
	objects := []about{{Object: server, kind: kindServer, conditions: server.Status.Conditions}}
	if ref := server.Spec.ServerClaimRef; ref != nil {
		t.Claim = ref.Namespace + "/" + ref.Name
		var claim metalv1.ServerClaim
		if s.get(ctx, t, "ServerClaim", client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim) {
			objects = append(objects, about{Object: &claim, kind: "ServerClaim", conditions: claim.Status.Conditions})
		}
	}
	objects = append(objects, s.maintenance(ctx, t, server)...)
	for _, o := range s.rollouts(ctx, t, server) {
		if !slices.ContainsFunc(objects, func(other about) bool { return other.String() == o.String() }) {
			objects = append(objects, o)
		}
	}
	for _, key := range configsOf(server, boots) {
		objects = append(objects, s.config(ctx, t, key)...)
	}
	recorded := map[string]bool{}
	for _, b := range boots.Boots {
		recorded[b.Attempt] = true
	}
	said := map[statement]bool{}
	for _, o := range objects {
		t.object(o)
		t.conditions(o, recorded, said)
		s.events(ctx, t, o)
	}
	s.records(ctx, t, server.Name)
}

// configsOf are the boot configurations that a server boots now, and those that its newest boots came from.
func configsOf(server *metalv1.Server, boots operator.Boots) []client.ObjectKey {
	var keys []client.ObjectKey
	seen := map[client.ObjectKey]bool{}
	add := func(namespace, name string) {
		if key := (client.ObjectKey{Namespace: namespace, Name: name}); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for _, ref := range []*metalv1.ObjectReference{server.Spec.BootConfigurationRef, server.Spec.MaintenanceBootConfigurationRef} {
		if ref != nil {
			add(ref.Namespace, ref.Name)
		}
	}
	for _, b := range boots.Boots {
		for _, step := range b.Steps {
			if parts := strings.SplitN(step.Entry, "/", 3); len(parts) == 3 && strings.HasSuffix(parts[0], "BootConfig") {
				add(parts[1], parts[2])
			}
		}
	}
	return keys
}

// config reads a boot configuration, tells of its attempt, and returns it with what was made of it, which has its name.
func (s Source) config(ctx context.Context, t *Timeline, key client.ObjectKey) []about {
	var objects []about
	var config metalv1.ServerBootConfiguration
	if s.get(ctx, t, "ServerBootConfiguration", key, &config) {
		objects = append(objects, about{&config, "ServerBootConfiguration", config.Status.Conditions, config.Status.DeliveryAttempt})
		t.attempt(&config)
	}
	for _, m := range bootmethod.Methods {
		obj := m.New()
		if s.get(ctx, t, m.Kind, key, obj) {
			its := bootmethod.ConfigOf(obj)
			objects = append(objects, about{obj, m.Kind, *its.Conditions, *its.DeliveryAttempt})
		}
	}
	return objects
}

// get reports whether an object is there. One that is gone is no news.
func (s Source) get(ctx context.Context, t *Timeline, kind string, key client.ObjectKey, into client.Object) bool {
	err := s.API.Get(ctx, key, into)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Missing = append(t.Missing, fmt.Sprintf("%s %s: %v", kind, key, err))
	}
	return err == nil
}

// attempt tells the steps of the newest boot of a configuration.
func (t *Timeline) attempt(config *metalv1.ServerBootConfiguration) {
	a := bootattempt.Of(config)
	if !a.Begun() {
		return
	}
	object := about{Object: config, kind: "ServerBootConfiguration"}.String()
	step := func(at *time.Time, what, detail string) {
		if at != nil {
			t.Entries = append(t.Entries, Entry{Time: *at, Kind: KindBoot, What: what, Object: object, Detail: detail, Attempt: a.ID})
		}
	}
	trace := boottrace.TraceID(a.ID)
	ordered := fmt.Sprintf("boot %d, attempt %s, trace %s", a.Number, short(a.ID), trace)
	if a.Clean != "" {
		ordered += ", to clean (" + string(a.Clean) + ")"
	}
	step(a.Ordered, "boot ordered", ordered)
	t.Entries[len(t.Entries)-1].Trace = trace
	step(a.Off, "seen off", "")
	step(a.Defaults, "BIOS defaults", "the BMC accepted the command")
	step(a.Started, "seen on", "")
	step(a.Installed, "installed", "the machine boots its disk from now on")
}

func (t *Timeline) object(o about) {
	t.Entries = append(t.Entries, Entry{Time: o.GetCreationTimestamp().Time, Kind: KindObject, What: "created", Object: o.String()})
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		t.Entries = append(t.Entries, Entry{Time: deleted.Time, Kind: KindObject, What: "deletion asked", Object: o.String()})
	}
}

// statement is what a condition says. What was made of a boot configuration says the same as that itself.
type statement struct {
	name      client.ObjectKey
	condition metav1.Condition
}

// idle are the conditions that mean nothing when they are false: nothing goes on.
var idle = map[string]bool{metalv1.ConditionPoweringOn: true, metalv1.ConditionWaitingForPowerOff: true, "Late": true, metalv1.ConditionDegraded: true}

// repeats reports whether a condition says the same as the record of requests, or nothing at all. Those who have no such record any more are
// told by the condition.
func (a about) repeats(c metav1.Condition, recorded map[string]bool) bool {
	switch {
	case c.Reason == "Delivered" && c.Status == metav1.ConditionTrue:
		return a.delivered != "" && recorded[a.delivered]
	case c.Status == metav1.ConditionFalse:
		return idle[c.Type] || c.Reason == "BootOrdered"
	}
	return c.Type == bootv1.ConditionIgnitionContent // a fingerprint, for programs
}

func (t *Timeline) conditions(o about, recorded map[string]bool, said map[statement]bool) {
	for _, c := range o.conditions {
		key := statement{client.ObjectKeyFromObject(o), c}
		key.condition.ObservedGeneration = 0
		if o.repeats(c, recorded) || said[key] {
			continue
		}
		said[key] = true
		what := c.Type
		switch c.Status {
		case metav1.ConditionFalse:
			what = "not " + c.Type
		case metav1.ConditionUnknown:
			what = c.Type + "?"
		}
		detail := c.Reason
		switch {
		case strings.HasPrefix(c.Message, c.Reason):
			detail = c.Message
		case c.Message != "":
			detail += ", " + c.Message
		}
		t.Entries = append(t.Entries, Entry{Time: c.LastTransitionTime.Time, Kind: KindCondition, What: what, Object: o.String(), Detail: detail})
	}
}

// events tells those of an object. Events of what has no namespace are in "default".
func (s Source) events(ctx context.Context, t *Timeline, o about) {
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var list corev1.EventList
	err := s.API.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.uid": string(o.GetUID())})
	if err != nil {
		t.Missing = append(t.Missing, fmt.Sprintf("events of %s: %v", o, err))
		return
	}
	for i := range list.Items {
		e := &list.Items[i]
		t.Entries = append(t.Entries, Entry{
			Time: timeOf(e), Kind: KindEvent, What: e.Reason, Object: o.String(), Detail: e.Message, Bad: e.Type == corev1.EventTypeWarning,
		})
	}
}

// timeOf is when an event was first seen: the one field or the other has it, by who wrote it.
func timeOf(e *corev1.Event) time.Time {
	switch {
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

// records tells of the reports and cleanups of a server that are on record.
func (s Source) records(ctx context.Context, t *Timeline, server string) {
	var list corev1.ConfigMapList
	if err := s.API.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels(machinerecord.Selector(server))); err != nil {
		t.Missing = append(t.Missing, fmt.Sprintf("records in namespace %s: %v", s.Namespace, err))
		return
	}
	for i := range list.Items {
		obj := &list.Items[i]
		e := Entry{
			Time: obj.CreationTimestamp.Time, Kind: KindRecord, What: obj.Labels[machinerecord.Label] + " stored",
			Object: "ConfigMap " + obj.Namespace + "/" + obj.Name, Attempt: obj.Annotations[machinerecord.AnnotationAttempt],
		}
		if meta := machinerecord.CleanupMetaOf(obj); meta.Outcome != "" {
			e.What, e.Detail, e.Bad = "cleanup", fmt.Sprintf("%s (%s), %s", meta.Outcome, meta.Mode, meta.Summary), meta.Outcome != machinerecord.Clean
		}
		t.Entries = append(t.Entries, e)
	}
}
