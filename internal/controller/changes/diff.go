package changes

import (
	"cmp"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// seen is an object as the logbook sees it.
type seen struct {
	subject, object string
	state, power    string
	claim           string
	conditions      []metav1.Condition
}

// of is what the logbook sees of an object; false: nothing.
func of(obj any) (seen, bool) {
	switch o := obj.(type) {
	case *metalv1.Server:
		s := seen{logbook.ServerSubject(o.Name), "Server", string(o.Status.State), string(o.Status.PowerState), "", o.Status.Conditions}
		if ref := o.Spec.ServerClaimRef; ref != nil {
			s.claim = ref.Namespace + "/" + ref.Name
		}
		return s, true
	case *metalv1.ServerClaim:
		s := seen{logbook.ClaimSubject(o.Namespace, o.Name), nameOf("ServerClaim", o), string(o.Status.Phase), "", "", o.Status.Conditions}
		if ref := o.Spec.ServerRef; ref != nil {
			s.subject = logbook.ServerSubject(ref.Name)
		}
		return s, true
	case *metalv1.ServerBootConfiguration:
		return seen{logbook.ServerSubject(o.Spec.ServerRef.Name), nameOf("ServerBootConfiguration", o), string(o.Status.State), "", "", o.Status.Conditions}, true
	case *metalv1.BMC:
		return seen{logbook.BMCSubject(HostOf(o), int(o.Spec.Protocol.Port)), "BMC " + o.Name, string(o.Status.State), string(o.Status.PowerState), "", o.Status.Conditions}, true
	}
	return seen{}, false
}

func nameOf(kind string, obj client.Object) string {
	return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
}

// HostOf is the host of a BMC's endpoint, as far as the object says it.
func HostOf(b *metalv1.BMC) string {
	if b.Spec.Access != nil {
		return cmp.Or(b.Spec.Access.IP, b.Status.IP)
	}
	return b.Status.IP
}

// diff are the entries about what changed from one version of an object to the next.
func diff(before, now seen) (entries []logbook.Entry) {
	add := func(e logbook.Entry) {
		e.Subject, e.Object = now.subject, now.object
		entries = append(entries, e)
	}
	if now.state != before.state {
		add(logbook.Entry{Kind: logbook.KindState, What: "state " + cmp.Or(now.state, "empty"), Detail: was(before.state)})
	}
	if now.power != before.power {
		add(logbook.Entry{Kind: logbook.KindState, What: "power " + cmp.Or(now.power, "unknown"), Detail: was(before.power)})
	}
	switch now.claim {
	case before.claim:
	case "":
		add(logbook.Entry{Kind: logbook.KindClaim, What: "claim gone", Detail: before.claim})
	default:
		add(logbook.Entry{Kind: logbook.KindClaim, What: "claimed", Detail: now.claim})
	}
	for i := range now.conditions {
		c := &now.conditions[i]
		old := apimeta.FindStatusCondition(before.conditions, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		e := logbook.Entry{Kind: logbook.KindCondition, What: says(c), Reason: c.Reason, Detail: c.Message}
		if old == nil || old.Status != c.Status {
			e.Time = c.LastTransitionTime.Time
		}
		add(e)
	}
	return entries
}

func was(before string) string {
	if before == "" {
		return ""
	}
	return "was " + before
}

// says is the type of a condition and its status in a word or two, as `farrier timeline` spells them.
func says(c *metav1.Condition) string {
	switch c.Status {
	case metav1.ConditionFalse:
		return "not " + c.Type
	case metav1.ConditionUnknown:
		return c.Type + "?"
	}
	return c.Type
}

// entriesOf are the entries about an object that was made, or is gone.
func entriesOf(s seen, what string) []logbook.Entry {
	if strings.HasSuffix(s.subject, "/") {
		return nil // of nobody yet
	}
	return []logbook.Entry{{Subject: s.subject, Object: s.object, Kind: logbook.KindObject, What: what}}
}
