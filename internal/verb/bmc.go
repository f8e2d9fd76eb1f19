package verb

import (
	"context"
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Adding is a BMC that Farrier does not know yet.
type Adding struct {
	API                client.Client
	Name, IP, MAC      string
	Scheme             metalv1.ProtocolScheme
	Port               int32
	Username, Password string
	Labels             map[string]string
}

// AddBMC makes a BMC with its credentials, and waits until it answers.
func AddBMC(a Adding) []Order {
	bmc := &metalv1.BMC{
		TypeMeta:   metav1.TypeMeta{APIVersion: metalv1.GroupVersion.String(), Kind: "BMC"},
		ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: a.Labels},
		Spec: metalv1.BMCSpec{
			Access:       &metalv1.InlineEndpoint{IP: a.IP, MACAddress: a.MAC},
			BMCSecretRef: metalv1.LocalObjectReference{Name: a.Name},
			Protocol:     metalv1.Protocol{Name: metalv1.ProtocolRedfish, Port: a.Port, Scheme: a.Scheme},
		},
	}
	return []Order{{
		Kubectl: []string{kubectlCreate(a.secret("REPLACE-WITH-THE-PASSWORD"), bmc)},
		Write: func(ctx context.Context) error {
			secret := a.secret(a.Password)
			if err := a.API.Create(ctx, secret); err != nil {
				return fmt.Errorf("create BMCSecret %s: %w", a.Name, err)
			}
			if err := a.API.Create(ctx, bmc); err != nil {
				return fmt.Errorf("create BMC %s: %w", a.Name, errors.Join(err, a.API.Delete(ctx, secret)))
			}
			return nil
		},
		Look: a.look,
		Done: func() string { return "BMC " + a.Name + " answers; farrier status shows its servers" },
	}}
}

func (a *Adding) secret(password string) *metalv1.BMCSecret {
	return &metalv1.BMCSecret{
		TypeMeta:   metav1.TypeMeta{APIVersion: metalv1.GroupVersion.String(), Kind: "BMCSecret"},
		ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: sameInstallation(a.Labels)},
		StringData: map[string]string{metalv1.BMCSecretUsernameKey: a.Username, metalv1.BMCSecretPasswordKey: password},
	}
}

// refused are the reasons for which a BMC does not answer until somebody changes something.
var refused = map[string]bool{metalv1.ReasonAuthenticationFailed: true, metalv1.ReasonUntrusted: true, metalv1.ReasonDowngraded: true}

// look reports whether the BMC answers. One that does not answer yet may be about to start.
func (a *Adding) look(ctx context.Context) (bool, string, error) {
	var bmc metalv1.BMC
	if err := a.API.Get(ctx, client.ObjectKey{Name: a.Name}, &bmc); err != nil {
		return false, "", err
	}
	if conditionTrue(bmc.Status.Conditions, metalv1.ConditionReady) {
		return true, "", nil
	}
	why := printable.Line(overview.Said(bmc.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse))
	if c := apimeta.FindStatusCondition(bmc.Status.Conditions, metalv1.ConditionReady); c != nil && c.Status == metav1.ConditionFalse && refused[c.Reason] {
		return false, "", fmt.Errorf("BMC %s: %s", a.Name, why)
	}
	if why == "" {
		why = "not heard of yet"
	}
	return false, "BMC " + a.Name + ": " + why, nil
}
