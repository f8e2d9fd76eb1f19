package e2e

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inbound/boottls"
)

// Firmware into which the authority of the boot server was put boots over https, and so does what it boots go on. Firmware that trusts
// another authority takes nothing.
func TestUEFIHTTPS(t *testing.T) {
	l := newLabOverTLS(t)
	const name, uuid, mac = "uki-tls", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0021", "52:54:00:00:00:21"
	ignition := l.ignition(name)
	plan := l.push(name, localregistry.Image{UKI: uki(t, trustingInitramfs(t, name, l.ca), "ignition.config.url="+l.url+"/ignition/"+uuid)})
	config := &bootv1.HTTPBootConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: bootv1.HTTPBootConfigSpec{
			SystemUUID: uuid, NetworkIdentifiers: []string{mac}, UKIURL: registry.UKIURL(l.url, plan),
			IgnitionSecretRef: &bootv1.LocalObjectReference{Name: name},
		},
	}
	l.create(config)
	l.ready(config, func() []metav1.Condition { return config.Status.Conditions })
	url := l.askHTTPBoot(mac)
	if url != config.Spec.UKIURL {
		t.Fatalf("/httpboot names %q, not %q", url, config.Spec.UKIURL)
	}

	t.Run("another authority", func(t *testing.T) {
		other, _, err := boottls.NewAuthority(metav1.Now().Time)
		if err != nil {
			t.Fatal(err)
		}
		machine := powerWith(t, uefiHTTP, identity{uuid, name}, nvram{bootURL: url, trusted: other})
		machine.prints("Could not retrieve NBP file size from HTTP server")
		if value, said := machine.said("uuid"); said {
			t.Errorf("it has booted, as %s", value)
		}
		l.notYet(config, func() []metav1.Condition { return config.Status.Conditions }, "UKIFetched")
	})
	t.Run("its authority", func(t *testing.T) {
		machine := powerWith(t, uefiHTTP, identity{uuid, name}, nvram{bootURL: url, trusted: l.ca})
		for key, want := range map[string]string{"uuid": uuid, "marker": name, "ignition": ignition} {
			if got := machine.says(key); got != want {
				t.Errorf("%s: the machine has %q, not %q", key, got, want)
			}
		}
		machine.goesOff()
		l.condition(config, func() []metav1.Condition { return config.Status.Conditions }, "IgnitionDataFetched")
	})
}

// notYet fails where a condition has become true.
func (l *lab) notYet(obj client.Object, conditions func() []metav1.Condition, kind string) {
	l.t.Helper()
	l.Eventually(fmt.Sprintf("%s is read", obj.GetName()), func(ctx context.Context) error {
		return l.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	})
	if c := apimeta.FindStatusCondition(conditions(), kind); c != nil && c.Status == metav1.ConditionTrue {
		l.t.Errorf("%s: %s", kind, c.Message)
	}
}
