package brake

import (
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Staged is what an object's own controller knows of how far it has come where spec, state and conditions do not tell.
type Staged func(obj client.Object) string

// stageOf is a fingerprint of the state that an object is in: whose it is, whether it is being deleted, its spec, its state, and its
// conditions with their reasons. Messages, times, counters and what is kept in annotations are no part of it: they change with
// every attempt at the same thing. An object of another UID was made anew; by a controller of ours only where others of
// the same owner were.
func stageOf(obj client.Object, verb string, more Staged) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, verb, !obj.GetDeletionTimestamp().IsZero())
	owners := obj.GetOwnerReferences()
	if len(owners) == 0 {
		fmt.Fprintf(h, " %q", obj.GetUID())
	}
	for _, owner := range owners {
		fmt.Fprintf(h, " %q", owner.UID)
	}
	if more != nil {
		fmt.Fprintf(h, " %q", more(obj))
	}
	content(h, obj)
	return h.Sum64()
}

// content adds spec and status. Secrets and the like have neither, and what is in them is no progress.
func content(h hash.Hash, obj client.Object) {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return
	}
	v = v.Elem()
	if spec := v.FieldByName("Spec"); spec.IsValid() {
		text, err := json.Marshal(spec.Interface())
		if err == nil {
			_, _ = h.Write(text)
		}
	}
	if status := v.FieldByName("Status"); status.IsValid() && status.Kind() == reflect.Struct {
		if state := status.FieldByName("State"); state.IsValid() && state.Kind() == reflect.String {
			fmt.Fprintf(h, " %q", state.String())
		}
	}
	if conditions := conditionsOf(obj); conditions != nil {
		for _, c := range *conditions {
			if c.Type != metalv1.ConditionStalled {
				fmt.Fprintf(h, " %q=%q %q", c.Type, c.Status, c.Reason)
			}
		}
	}
}

// conditionsOf is where the conditions of an object are, nil where it has none.
func conditionsOf(obj client.Object) *[]metav1.Condition {
	switch o := obj.(type) {
	case *metalv1.Endpoint:
		return &o.Status.Conditions
	case *metalv1.BMC:
		return &o.Status.Conditions
	case *metalv1.Server:
		return &o.Status.Conditions
	case *metalv1.ServerClaim:
		return &o.Status.Conditions
	case *metalv1.ServerBootConfiguration:
		return &o.Status.Conditions
	case *metalv1.ServerMaintenance:
		return &o.Status.Conditions
	case *metalv1.ServerReadinessRule:
		return &o.Status.Conditions
	case *metalv1.BIOSSettings:
		return &o.Status.Conditions
	case *bootv1.IPXEBootConfig:
		return &o.Status.Conditions
	case *bootv1.HTTPBootConfig:
		return &o.Status.Conditions
	case *ipxev1.Profile:
		return &o.Status.Conditions
	case *ipxev1.Assignment:
		return &o.Status.Conditions
	}
	return nil
}
