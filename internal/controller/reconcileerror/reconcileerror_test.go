package reconcileerror

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestHandle(t *testing.T) {
	servers := schema.GroupResource{Resource: "servers"}
	later := reconcile.Result{RequeueAfter: time.Minute}
	soon := reconcile.Result{RequeueAfter: conflictDelay}
	for name, tc := range map[string]struct {
		err    error
		want   reconcile.Result
		passed bool
	}{
		"nothing":               {nil, later, false},
		"waiting":               {fmt.Errorf("image: %w", Waiting{On: "the registry"}), later, false},
		"terminal":              {fmt.Errorf("x: %w", Terminalf("Reason", "spec.x: %w", errors.New("bad"))), later, false},
		"a lost race":           {fmt.Errorf("take: %w", apierrors.NewConflict(servers, "s", errors.New("modified"))), soon, false},
		"there before us":       {apierrors.NewAlreadyExists(servers, "s"), soon, false},
		"a namespace that ends": {terminating(), later, false},
		"anything else":         {errors.New("etcd is away"), later, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Handle(t.Context(), later, tc.err)
			if got != tc.want || (err != nil) != tc.passed {
				t.Errorf("result %+v, error %v", got, err)
			}
		})
	}
}

// terminating is what an API server says to whoever creates something in a namespace that is being deleted.
func terminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "serverbootconfigurations"}, "s", errors.New("namespace tenant is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return fmt.Errorf("boot configuration: %w", err)
}

func TestTerminalKeepsItsCause(t *testing.T) {
	cause := errors.New("cause")
	err := Terminalf("Reason", "spec.x: %w", cause)
	if !errors.Is(err, cause) || err.Error() != "spec.x: cause" {
		t.Errorf("%v", err)
	}
}

func TestErrorsThatMayGoAway(t *testing.T) {
	if IsTransient(nil) || IsTransient(Terminalf("R", "no")) || IsTransient(fmt.Errorf("wrapped: %w", Terminalf("R", "no"))) {
		t.Error("a person has to do something first")
	}
	if !IsTransient(errors.New("timeout")) {
		t.Error("a timeout may go away")
	}
}

// TestTheEndOfAController: what it has cut short is no error, and what failed before is.
func TestTheEndOfAController(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	cut := fmt.Errorf("write status: %w", context.Canceled)
	if _, err := Handle(ended, reconcile.Result{}, cut); err != nil {
		t.Errorf("cut short by the end: %v", err)
	}
	if _, err := Handle(t.Context(), reconcile.Result{}, cut); err == nil {
		t.Error("something else was canceled, and nobody tells")
	}
	if _, err := Handle(ended, reconcile.Result{}, errors.New("broken")); err == nil {
		t.Error("what failed at the end is not told")
	}
}
