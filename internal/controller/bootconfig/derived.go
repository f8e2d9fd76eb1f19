package bootconfig

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// The boot configs of internal boots are derived (package derivedboot). Status of the boot configuration is the only one that they have: what they
// report is in it, and the events that are theirs otherwise are about it.

// untilFetched is how long a machine may take to fetch something before status says that its boot is ready. Then one write tells of both. Whoever
// boots the machine knows without status (derivedboot.Configs.Status), and people see it at the Server.
const untilFetched = 5 * time.Minute

// statusOf is what was said last of a boot configuration, in status or in memory.
func (r *Reconciler) statusOf(v *view) metalv1.ServerBootConfigurationStatus {
	if !v.derived {
		return v.config.Status
	}
	return r.Derived.Status(v.config)
}

// remember keeps what was described of a boot configuration whose status is silent.
func (r *Reconciler) remember(v *view, before *metalv1.ServerBootConfiguration) {
	if !v.derived {
		return
	}
	var unsaid *metalv1.ServerBootConfigurationStatus
	if before.Status.State == "" {
		unsaid = &v.config.Status
	}
	r.Derived.Describe(v.config, unsaid)
}

// asUsual reports whether status would say nothing but that the boot is ready.
func (v *view) asUsual() bool {
	usual := map[string]string{metalv1.ConditionReady: "Ready", metalv1.ConditionImageValidation: "Validated", bootv1.ConditionIgnitionContent: "Read"}
	return v.warning == "" && !slices.ContainsFunc(v.config.Status.Conditions, func(c metav1.Condition) bool { return usual[c.Type] != c.Reason })
}

// pin has a machine whose boot was ordered get the image that it was ordered with.
func (v *view) pin() {
	if !v.derived {
		return
	}
	if plan, ordered := derivedboot.Ordered(v.config); ordered {
		v.image.Plan, v.resolved = plan, true
	}
}

// named is what the image of an internal boot names now, where the registry has told and the machine can boot it: such a boot is ordered together with
// its preparation.
func (r *Reconciler) named(server *metalv1.Server, reference string) (derivedboot.Image, bool) {
	found, resolved := r.Images.Lookup(registry.Request{Reference: reference, Architecture: architecture(server, r.Architecture)})
	if !resolved || found.Err != nil || found.Plan.Digest == "" {
		return derivedboot.Image{}, false
	}
	boots := slices.ContainsFunc(bootmethod.Methods, func(m bootmethod.Method) bool { return found.Plan.Has(m.Layers) })
	return derivedboot.Image{Reference: reference, Plan: found.Plan}, boots
}

// gatherDerived takes a derived child for what there is, unless somebody else's object has its place.
func (r *Reconciler) gatherDerived(v *view, c *child) {
	if v.foreign(c) {
		return
	}
	if obj, made := r.Derived.Get(c.method.Kind, client.ObjectKeyFromObject(v.config)); made {
		c.have = obj
	}
}

// derive makes the derived children what was decided.
func (r *Reconciler) derive(v *view) {
	want := map[string]func(bootmethod.Object){}
	for i := range v.children {
		if c := &v.children[i]; v.foreign(c) {
			c.have = nil
		} else if c.want != nil {
			want[c.method.Kind] = c.want
		}
	}
	if !v.known {
		r.Derived.Look(v.config)
		return
	}
	r.Derived.Plan(v.config, derivedboot.Image{Reference: v.config.Spec.Image, Plan: v.image.Plan}, want)
	for i := range v.children {
		c := &v.children[i]
		c.have, _ = r.Derived.Get(c.method.Kind, client.ObjectKeyFromObject(v.config))
	}
}

// knowsBetter reports whether status has a delivery of the boot that is under way that a derived child does not report: it was noted by another
// process, or the child was rendered before it was written.
func (v *view) knowsBetter(reported *metav1.Condition) bool {
	if !v.derived || reported.Status == metav1.ConditionTrue || reported.Type == bootv1.ConditionIgnitionContent {
		return false
	}
	a, status := bootattempt.Of(v.config), &v.config.Status
	return a.Open() && a.Concerns(status.DeliveryAttempt, apimeta.FindStatusCondition(status.Conditions, reported.Type))
}

// warned is what was said of derived children that are well, after what else is said.
func (v *view) warned() string {
	if v.warning == "" {
		return ""
	}
	return "; " + v.warning
}

// mirrorReach copies from derived children whether boot servers without Kubernetes have the boot.
func (v *view) mirrorReach() {
	if !v.derived {
		return
	}
	apimeta.RemoveStatusCondition(&v.config.Status.Conditions, bootv1.ConditionBootServerReached)
	for _, child := range v.reports() {
		if c := apimeta.FindStatusCondition(child.conditions, bootv1.ConditionBootServerReached); c != nil {
			c.ObservedGeneration = v.config.Generation
			apimeta.SetStatusCondition(&v.config.Status.Conditions, *c)
			return
		}
	}
}

// tellDerived sends an event for each condition of derived children that has become bad.
func (r *Reconciler) tellDerived(v *view, before *metalv1.ServerBootConfiguration) {
	if !v.derived {
		return
	}
	was, is := before.Status.Conditions, v.config.Status.Conditions
	warn := func(kind, reason, message string) {
		if events.Differ(apimeta.FindStatusCondition(was, kind), apimeta.FindStatusCondition(is, kind)) {
			r.event(v.config, corev1.EventTypeWarning, reason, message)
		}
	}
	if v.warning != "" && apimeta.IsStatusConditionTrue(is, metalv1.ConditionReady) {
		warn(metalv1.ConditionReady, "IgnitionWarning", v.warning)
	}
	if again := apimeta.FindStatusCondition(is, bootv1.ConditionIgnitionReadAgain); again != nil && again.Status == metav1.ConditionTrue {
		warn(again.Type, bootv1.ConditionIgnitionReadAgain, again.Message)
	}
	if reached := apimeta.FindStatusCondition(is, bootv1.ConditionBootServerReached); reached != nil {
		warn(reached.Type, reached.Reason, reached.Message)
	}
}
