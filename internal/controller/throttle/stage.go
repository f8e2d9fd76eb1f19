package throttle

import (
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// Staged returns what only the object's own controller knows of its progress, beside spec, state and conditions.
type Staged func(obj client.Object) string

// stageOf returns a fingerprint of the state of an object: its owners, whether it is being deleted, its spec, its state, and its
// conditions with their reasons. It leaves out messages, times, counters and annotations, which change with every attempt at the
// same thing. The UID counts only where there is no owner: an owned object may be deleted and made again without progress.
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

// content adds spec and status. Secrets and the like have neither, and a change of their data is no progress.
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

// conditionsOf returns the conditions of an object, nil for a kind without conditions.
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
	case *metalv1.BMCUser:
		return &o.Status.Conditions
	case *farrierv1.RolloutPolicy:
		return &o.Status.Conditions
	case *metalv1.BIOSSettings:
		return &o.Status.Conditions
	case *metalv1.BIOSVersionSet:
		return &o.Status.Conditions
	case *metalv1.BMCVersionSet:
		return &o.Status.Conditions
	case *metalv1.BMCSettingsSet:
		return &o.Status.Conditions
	case *metalv1.BIOSSettingsSet:
		return &o.Status.Conditions
	case *metalv1.BIOSVersion:
		return &o.Status.Conditions
	case *metalv1.BMCVersion:
		return &o.Status.Conditions
	case *metalv1.BMCSettings:
		return &o.Status.Conditions
	case *ipxev1.Profile:
		return &o.Status.Conditions
	case *ipxev1.Assignment:
		return &o.Status.Conditions
	}
	if config := bootmethod.ConfigOf(obj); config != nil {
		return config.Conditions
	}
	return nil
}
