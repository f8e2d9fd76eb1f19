package childset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// mostSteps bounds how often one target is decided in a forecast: a child is removed, another Set makes its own, and that is all.
const mostSteps = 4

// Forecast is what the API would hold of one kind once proposed Sets are applied and all Sets have made and changed their children.
type Forecast struct {
	Sets, Children []client.Object
}

// ForecastAll decides for every target as the controller does, and writes nothing: neither to the API nor to the objects that it is given. defaults says
// that there is a RolloutPolicy for Sets that choose none. What children would find at their targets is taken from the API.
func (k *Kind) ForecastAll(ctx context.Context, from client.Reader, proposed []client.Object, now time.Time, defaults bool) (*Forecast, error) {
	sets, err := list(ctx, from, k.sets())
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", k.Name, err)
	}
	children, err := list(ctx, from, k.children())
	if err != nil {
		return nil, fmt.Errorf("list the %s: %w", k.Child, err)
	}
	targets, err := list(ctx, from, k.targets())
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", k.Target, err)
	}
	f := &Forecast{Sets: k.propose(sets, proposed, now)}
	used := map[string]bool{}
	views := viewsOf(k, k.readSets(f.Sets), targets, children, defaults)
	for _, child := range children {
		used[child.GetName()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		views[name].settle(used)
		f.Children = append(f.Children, views[name].children...)
	}
	return f, nil
}

// viewsOf are the views of all targets, also of those that only a child names.
func viewsOf(k *Kind, sets []*set, targets, children []client.Object, defaults bool) map[string]*view {
	views := map[string]*view{}
	of := func(name string) *view {
		if views[name] == nil {
			views[name] = &view{kind: k, name: name, sets: sets, defaults: defaults}
		}
		return views[name]
	}
	for _, target := range targets {
		of(target.GetName()).target = target
	}
	for _, child := range children {
		v := of(k.targetOf(child))
		v.children = append(v.children, child)
	}
	for _, v := range views {
		slices.SortFunc(v.children, byAge)
	}
	return views
}

// settle decides until there is nothing to do.
func (v *view) settle(used map[string]bool) {
	for range mostSteps {
		p := v.decide()
		if len(p.change)+len(p.remove) == 0 && p.create == nil {
			return
		}
		v.imagine(p, used)
	}
}

// imagine carries a plan out in the view alone.
func (v *view) imagine(p plan, used map[string]bool) {
	for _, c := range p.change {
		v.children[slices.Index(v.children, c.was)] = v.changed(c)
	}
	for _, gone := range p.remove {
		v.children = slices.DeleteFunc(v.children, func(child client.Object) bool { return child == gone })
	}
	if p.create == nil {
		return
	}
	plain, exact := names(p.create.GetName(), v.name)
	for _, name := range []string{plain, exact} {
		if used[name] {
			continue
		}
		used[name] = true
		child := v.born(p.create, name)
		child.SetUID(types.UID("forecast/" + v.kind.Child + "/" + name))
		child.SetGeneration(1)
		v.kind.forecast(v.target, child)
		v.children = append(v.children, child)
		return
	}
}

// changed is a child after a change. One that got another template starts anew, unless it is in progress.
func (v *view) changed(c change) client.Object {
	s := v.owner(c.was)
	if s == nil || v.kind.outdated(s, c.was) == nil || v.kind.outdated(s, c.to) != nil {
		return c.to
	}
	to, at := copyOf(c.to), v.kind.stateOf(c.was)
	to.SetGeneration(to.GetGeneration() + 1)
	if at != inProgress && v.target != nil {
		v.kind.forecast(v.target, to)
	}
	return to
}

// propose lays proposed Sets over those that stand.
func (k *Kind) propose(standing, proposed []client.Object, now time.Time) []client.Object {
	sets := slices.Clone(standing)
	for _, p := range proposed {
		at := slices.IndexFunc(sets, func(s client.Object) bool { return s.GetName() == p.GetName() })
		if at >= 0 {
			sets[at] = applied(sets[at], p)
			continue
		}
		to := copyOf(p)
		to.SetUID(types.UID("forecast/" + k.Name + "/" + p.GetName()))
		to.SetGeneration(1)
		to.SetCreationTimestamp(metav1.NewTime(now))
		controllerutil.AddFinalizer(to, k.finalizer)
		sets = append(sets, to)
	}
	return sets
}

// applied is a proposed object in the place of the one that stands, as `kubectl apply` leaves it: annotations that the last apply did not set stay.
func applied(standing, proposed client.Object) client.Object {
	to := copyOf(proposed)
	to.SetUID(standing.GetUID())
	to.SetResourceVersion(standing.GetResourceVersion())
	to.SetCreationTimestamp(standing.GetCreationTimestamp())
	to.SetDeletionTimestamp(standing.GetDeletionTimestamp())
	to.SetFinalizers(standing.GetFinalizers())
	to.SetGeneration(standing.GetGeneration())
	if !equality.Semantic.DeepEqual(specOf(standing), specOf(proposed)) {
		to.SetGeneration(standing.GetGeneration() + 1)
	}
	annotations := maps.Clone(standing.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key := range lastApplied(standing) {
		delete(annotations, key)
	}
	maps.Copy(annotations, proposed.GetAnnotations())
	to.SetAnnotations(annotations)
	return to
}

// lastApplied are the annotations that `kubectl apply` has set; it removes those that its next manifest lacks.
func lastApplied(obj client.Object) map[string]string {
	var was struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(annotation(obj, corev1.LastAppliedConfigAnnotation)), &was) != nil {
		return nil // it was never applied, or by other means
	}
	return was.Metadata.Annotations
}

// specOf is the spec of an object of any kind.
func specOf(obj client.Object) any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	return fields["spec"]
}

// forecastReady is the condition Ready that a child starts with.
func forecastReady(reason string) metav1.Condition {
	return metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason}
}

// biosOf is the version of the BIOS of a Server, firmwareOf that of the firmware of a BMC, as far as the API shows it.
func biosOf(target client.Object) string {
	if server, ok := target.(*metalv1.Server); ok {
		return server.Status.BIOSVersion
	}
	return ""
}

func firmwareOf(target client.Object) string {
	if bmc, ok := target.(*metalv1.BMC); ok {
		return bmc.Status.FirmwareVersion
	}
	return ""
}
