package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
)

// namespace is where claims and their Secrets are made.
const namespace = "default"

// claimed is a claim, and what became of it.
type claimed struct {
	name             string // namespace/name
	object           string // name alone, of the claim and of its Secret
	created, deleted time.Time
	// server and place are known from when it is bound.
	server string
	place  *Place
	files  []show.File
	// uid, before and cleanup are about what happens when it is gone.
	uid     string
	before  []Disk
	cleanup *show.Cleanup
}

// ignition is a configuration in plain JSON (Ignition 3.4), another one for each machine, so that one
// which is given to the wrong machine is noticed.
func ignition(hostname string) ([]byte, error) {
	type object = map[string]any
	return json.Marshal(object{
		"ignition": object{"version": "3.4.0"},
		"storage": object{"files": []object{{
			"path": "/etc/hostname", "mode": 0o644, "overwrite": true, "contents": object{"source": "data:," + hostname},
		}}},
	})
}

// createClaims makes the ignition Secrets and the claims.
func (s *Scenario) createClaims(ctx context.Context) error {
	for i := range s.options.Claims {
		c := &claimed{object: fmt.Sprintf("demo-%d", i+1), created: s.clock.Now()}
		c.name = namespace + "/" + c.object
		payload, err := ignition(c.object)
		if err != nil {
			return fmt.Errorf("render the ignition of claim %s: %w", c.name, err)
		}
		meta := metav1.ObjectMeta{Namespace: namespace, Name: c.object}
		secret := &corev1.Secret{ObjectMeta: *meta.DeepCopy(), Data: map[string][]byte{s.lab.IgnitionKey: payload}}
		if err := s.lab.Client.Create(ctx, secret); err != nil {
			return fmt.Errorf("create Secret %s: %w", c.name, err)
		}
		meta.Annotations = map[string]string{metalv1.AnnotationCleanup: metalv1.CleanupFull}
		claim := &metalv1.ServerClaim{ObjectMeta: meta, Spec: metalv1.ServerClaimSpec{
			Power: metalv1.PowerOn, Image: s.lab.Image, IgnitionSecretRef: &metalv1.LocalObjectReference{Name: c.object},
		}}
		s.mu.Lock()
		s.claims = append(s.claims, c)
		s.mu.Unlock()
		if err := s.lab.Client.Create(ctx, claim); err != nil {
			return fmt.Errorf("create ServerClaim %s: %w", c.name, err)
		}
		c.uid = string(claim.UID)
	}
	return nil
}

// rememberServers writes down which machine each claim got: at the end the claims will not be there to say it.
func (s *Scenario) rememberServers(state *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.claims {
		c.server = state.Claims[c.name].Spec.ServerRef.Name
		c.place = s.placeOf(state, c.server)
	}
}

// placeOf finds the place in the rack of a Server; nil: it has none.
func (s *Scenario) placeOf(state *State, name string) *Place {
	server := state.Servers[name]
	for i := range s.lab.Rack {
		if server != nil && s.lab.Rack[i].UUID == server.Spec.SystemUUID {
			return &s.lab.Rack[i]
		}
	}
	return nil
}

func (s *Scenario) rememberBoot(*State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.booted = s.clock.Since(s.claims[0].created)
}

func (s *Scenario) deleteClaims(ctx context.Context) error {
	s.lookAtDisks()
	var errs []error
	for _, c := range s.claims {
		s.mu.Lock()
		c.deleted = s.clock.Now()
		s.mu.Unlock()
		claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.object}}
		if err := s.lab.Client.Delete(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete ServerClaim %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}
