package verb

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Claiming is what a new claim asks for.
type Claiming struct {
	API             client.Client
	Namespace, Name string
	Labels          map[string]string
	Image           string
	Power           metalv1.Power
	Server          string
	Selector        *metav1.LabelSelector
	// Ignition is the content of IgnitionFile; empty: the machine gets none. Butane says in which language it is.
	Ignition     []byte
	IgnitionFile string
	Butane       bool
	// Once has the machine boot its disk after it was installed.
	Once bool
	// UntilBound ends the waiting as soon as the claim has a server.
	UntilBound bool
}

// Claim makes a claim, and waits until its machine has fetched what it boots.
func Claim(c Claiming) []Order {
	claim, secret := c.claim(), c.secret()
	o := Order{
		Kubectl: c.kubectl(claim, secret),
		Write:   func(ctx context.Context) error { return c.create(ctx, claim, secret) },
	}
	var last overview.Facts
	t := Target{API: c.API, Namespace: c.Namespace, Claim: c.Name}
	o.Look = func(ctx context.Context) (bool, string, error) {
		f, err := t.facts(ctx)
		if err != nil {
			return false, "", err
		}
		last = f
		return c.look(f)
	}
	o.Done = func() string { return c.done(last) }
	return []Order{o}
}

func (c *Claiming) claim() *metalv1.ServerClaim {
	claim := &metalv1.ServerClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: metalv1.GroupVersion.String(), Kind: "ServerClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Labels: c.Labels},
		Spec:       metalv1.ServerClaimSpec{Power: c.Power, Image: c.Image, ServerSelector: c.Selector},
	}
	if c.Server != "" {
		claim.Spec.ServerRef = &metalv1.LocalObjectReference{Name: c.Server}
	}
	if len(c.Ignition) > 0 {
		claim.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: c.Name}
	}
	if c.Once {
		claim.Annotations = map[string]string{metalv1.AnnotationBootPolicy: string(metalv1.BootPolicyOnce)}
	}
	return claim
}

// secret has the ignition; nil: there is none.
func (c *Claiming) secret() *corev1.Secret {
	if len(c.Ignition) == 0 {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, Data: map[string][]byte{bootv1.SecretKeyIgnition: c.Ignition}}
	if c.Butane {
		secret.Data[bootv1.SecretKeyFormat] = []byte(ignition.FormatButane)
	}
	return secret
}

func (c *Claiming) kubectl(claim *metalv1.ServerClaim, secret *corev1.Secret) []string {
	commands := []string{}
	if secret != nil {
		create := fmt.Sprintf("kubectl create secret generic %s -n %s --from-file=%s='%s'", c.Name, c.Namespace, bootv1.SecretKeyIgnition, c.IgnitionFile)
		if c.Butane {
			create += fmt.Sprintf(" --from-literal=%s=%s", bootv1.SecretKeyFormat, ignition.FormatButane)
		}
		commands = append(commands, create)
	}
	return append(commands, kubectlCreate(claim))
}

// create makes the Secret first, so that the machine never boots without it, and has it deleted with the claim.
func (c *Claiming) create(ctx context.Context, claim *metalv1.ServerClaim, secret *corev1.Secret) error {
	if secret != nil {
		if err := c.API.Create(ctx, secret); err != nil {
			return fmt.Errorf("--ignition: create Secret %s/%s: %w", c.Namespace, c.Name, err)
		}
	}
	if err := c.API.Create(ctx, claim); err != nil {
		if secret != nil {
			err = errors.Join(err, c.API.Delete(ctx, secret))
		}
		return fmt.Errorf("create claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	if secret == nil {
		return nil
	}
	owner := merge{"metadata": merge{"ownerReferences": []metav1.OwnerReference{{
		APIVersion: metalv1.GroupVersion.String(), Kind: "ServerClaim", Name: claim.Name, UID: claim.UID,
	}}}}
	if err := patch(ctx, c.API, secret, owner); err != nil {
		return fmt.Errorf("the claim is made, and its Secret will not be deleted with it: %w", err)
	}
	return nil
}

// look reports whether the claim has what it asks for.
func (c *Claiming) look(f overview.Facts) (bool, string, error) {
	if err := neverBound(f.Claim); err != nil {
		return false, "", err
	}
	bound := f.Claim.Status.Phase == metalv1.ServerClaimPhaseBound
	if c.UntilBound || bound && f.Server == nil { // who may not see Servers cannot see more
		return bound, doing(f), nil
	}
	if err := errors.Join(errorState(f), hopeless(f)); err != nil {
		return false, "", err
	}
	if f.Server == nil || f.Server.Spec.ServerClaimRef == nil {
		return false, doing(f), nil
	}
	if c.Image == "" || c.Power == metalv1.PowerOff {
		return f.Server.Status.State == metalv1.ServerStateReserved, doing(f), nil
	}
	return f.Booted(), doing(f), nil
}

// neverBound is why a claim will never get a server; nil: it may.
func neverBound(claim *metalv1.ServerClaim) error {
	if conditionTrue(claim.Status.Conditions, metalv1.ConditionBound) {
		return nil
	}
	c := apimeta.FindStatusCondition(claim.Status.Conditions, metalv1.ConditionBound)
	if c != nil && (c.Reason == "SelectorInvalid" || c.Reason == "InvalidName") {
		return fmt.Errorf("claim %s/%s: %s: %s", claim.Namespace, claim.Name, c.Reason, printable.Line(c.Message))
	}
	return nil
}

func (c *Claiming) done(f overview.Facts) string {
	server := ""
	if ref := f.Claim.Spec.ServerRef; ref != nil {
		server = ref.Name
	}
	text := fmt.Sprintf("claim %s/%s has %s", c.Namespace, c.Name, server)
	if f.Server != nil && f.Booted() {
		text += ", which has fetched all that it boots"
	}
	return text
}

// Release deletes a claim, and waits until its server is clean, or kept as its reclaim policy says.
func Release(ctx context.Context, t Target) ([]Order, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	if f.Claim == nil {
		return nil, fmt.Errorf("release: no claim has %s", t.Server)
	}
	claim := f.Claim
	o := Order{
		Kubectl: []string{fmt.Sprintf("kubectl delete serverclaim %s -n %s", claim.Name, claim.Namespace)},
		Write: func(ctx context.Context) error {
			uid := claim.UID // not another claim of that name
			return client.IgnoreNotFound(t.API.Delete(ctx, claim, client.Preconditions{UID: &uid}))
		},
		Done: func() string { return fmt.Sprintf("claim %s/%s is gone", claim.Namespace, claim.Name) },
	}
	if f.Server == nil {
		return []Order{o}, nil
	}
	t.Server, t.Claim = f.Server.Name, ""
	said := ""
	o.Look = func(ctx context.Context) (done bool, doing string, err error) {
		said, done, doing, err = t.returned(ctx, string(claim.UID))
		return done, doing, err
	}
	o.Done = func() string { return fmt.Sprintf("claim %s/%s is gone; %s", claim.Namespace, claim.Name, said) }
	return []Order{o}, nil
}

// returned reports whether a server no longer has anything of the claim with that UID.
func (t Target) returned(ctx context.Context, uid string) (said string, done bool, doingNow string, err error) {
	f, err := t.facts(ctx)
	switch {
	case err != nil:
		return "", false, "", err
	case f.Server.Status.State == metalv1.ServerStateReleased:
		return t.Server + " is kept as it is for its owner: its reclaim policy is Retain", true, "", nil
	case f.Server.Annotations[metalv1.AnnotationClaimedBy] != uid && (f.Server.Spec.ServerClaimRef != nil || f.Server.Status.PowerState == metalv1.PowerStateOff):
		return t.Server + " is clean", true, "", nil
	}
	return "", false, doing(f), errorState(f)
}
