package server

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
)

// others are the maintenances of other operators, by API group: what is answered for them; nil: there is the object. A kind
// that is not here is not installed.
type others map[string]error

// asking is an API that holds maintenances of others too.
type asking struct {
	client.Reader
	others others
	asked  int
}

func (a *asking) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	meta, is := obj.(*metav1.PartialObjectMetadata)
	kind := obj.GetObjectKind().GroupVersionKind()
	if !is || kind.Kind != "ServerMaintenance" {
		return a.Reader.Get(ctx, key, obj, opts...)
	}
	a.asked++
	err, installed := a.others[kind.Group]
	if !installed {
		return &apimeta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	meta.Namespace, meta.Name = key.Namespace, key.Name
	return err
}

const theirs, alsoTheirs = "maintenance.metal.ironcore.dev", "servermaintenance.metal.ironcore.dev"

func notThere(group string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: "servermaintenances"}, "flash")
}

// noSuchURL is what a server answers of a kind that was removed after it had been known.
func noSuchURL(group string) error {
	return apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Group: group, Resource: "servermaintenances"}, "flash", "404 page not found", 0, true)
}

func forbidden(group string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: "servermaintenances"}, "flash", nil)
}

// TestAForeignMaintenance: a reference to what is not ours means hands off, until it is known to be over.
func TestAForeignMaintenance(t *testing.T) {
	for name, tc := range map[string]struct {
		others others
		ended  bool
		reason string
	}{
		"nothing of theirs is installed": {others{}, false, "NotFound"},
		"it is theirs":                   {others{theirs: nil}, false, "Found"},
		"it is the other's":              {others{theirs: notThere(theirs), alsoTheirs: nil}, false, "Found"},
		"we may not look":                {others{theirs: forbidden(theirs)}, false, "NotFound"},
		"we may not look at one of them": {others{theirs: notThere(theirs), alsoTheirs: forbidden(alsoTheirs)}, false, "NotFound"},
		"their kind was removed":         {others{theirs: noSuchURL(theirs)}, false, "NotFound"},
		"it is over":                     {others{theirs: notThere(theirs)}, true, ""},
		"it is over, for all of them":    {others{theirs: notThere(theirs), alsoTheirs: notThere(alsoTheirs)}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.available(t)
				api := &asking{Reader: s.API, others: tc.others}
				s.APIReader = api
				s.change(t, func(o *metalv1.Server) {
					o.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "theirs", Name: "flash"}
					o.Spec.IndicatorLED = metalv1.IndicatorLEDBlinking
				})
				s.pass(t, 10*time.Second)
				if tc.ended {
					if server := s.is(t, metalv1.ServerStateAvailable); server.Spec.ServerMaintenanceRef != nil || !slices.Contains(s.told, "MaintenanceEnded") {
						t.Errorf("reference %v, events %v", server.Spec.ServerMaintenanceRef, s.told)
					}
					return
				}
				s.is(t, metalv1.ServerStateMaintenance)
				s.says(t, conditionForeignMaintenance, metav1.ConditionTrue, tc.reason, "theirs/flash", "spec.serverMaintenanceRef")
				before := s.hw.Resets()
				s.hw.Power(uri, bmc.PowerOn) // they flash
				s.rack.Look(address)
				api.asked = 0
				s.pass(t, 10*time.Minute)
				if api.asked > 2*20+2 {
					t.Errorf("the API was asked %d times in ten minutes", api.asked)
				}
				server := s.is(t, metalv1.ServerStateMaintenance)
				if got := s.hw.Resets(); !slices.Equal(got, before) || server.Spec.ServerMaintenanceRef == nil {
					t.Errorf("reference %v, the machine was told %v", server.Spec.ServerMaintenanceRef, got[len(before):])
				}
				if n := count(s.told, conditionForeignMaintenance); n != 1 || slices.Contains(s.told, "MaintenanceEnded") {
					t.Errorf("told %v", s.told)
				}
				s.restart(t)
				s.APIReader = api
				s.pass(t, time.Minute)
				s.is(t, metalv1.ServerStateMaintenance)
				s.change(t, func(o *metalv1.Server) { o.Spec.ServerMaintenanceRef = nil }) // they are done
				s.pass(t, time.Minute)
				if server := s.is(t, metalv1.ServerStateAvailable); server.Status.PowerState != metalv1.PowerStateOff {
					t.Errorf("available and %s", server.Status.PowerState)
				}
				s.says(t, conditionForeignMaintenance, metav1.ConditionFalse, "Ended")
			})
		})
	}
}
