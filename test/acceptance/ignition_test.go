package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// setSecret makes the Secret of a claim have this content, in place of what it had.
func (p *running) setSecret(name string, data map[string]string) {
	p.t.Helper()
	p.Eventually("Secret "+name, func(ctx context.Context) error {
		var s corev1.Secret
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &s); err != nil {
			return err
		}
		s.Data, s.StringData = nil, data
		return p.Update(ctx, &s)
	})
}

// explains waits until a condition of an object has that reason and these words.
func (p *running) explains(obj client.Object, conditions func() []metav1.Condition, kind, reason string, words ...string) {
	p.t.Helper()
	p.Eventually(fmt.Sprintf("%s of %T %s", kind, obj, obj.GetName()), func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(conditions(), kind)
		if c == nil || c.Reason != reason {
			return fmt.Errorf("want reason %s: %s", reason, testlab.ConditionsText(conditions()))
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("%q is not said in %q", word, c.Message)
			}
		}
		return nil
	})
}

// TestIgnitionThatCannotBeTranslated: what Butane says of it stands on the boot configuration, the Server and the claim;
// nothing is booted; and it is over when the Secret is right, without anybody else doing anything.
func TestIgnitionThatCannotBeTranslated(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	l.ignition(p, "web", "ignition")
	p.setSecret("web", map[string]string{"format": "fcos", "ignition": "variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n  - path: not/absolute\n"})
	web := l.claim(p, "web")
	name := p.bound("web")
	words := []string{`Secret "web"`, "Butane", "path"}
	config := &metalv1.ServerBootConfiguration{ObjectMeta: objectMeta("default", "web")}
	server := &metalv1.Server{ObjectMeta: objectMeta("", name)}
	p.explains(config, func() []metav1.Condition { return config.Status.Conditions }, metalv1.ConditionReady, "Error", words...)
	p.explains(server, func() []metav1.Condition { return server.Status.Conditions }, metalv1.ConditionBootReady, "BootConfigurationError", words...)
	p.explains(web, func() []metav1.Condition { return web.Status.Conditions }, metalv1.ConditionBootReady, "BootConfigurationError", words...)
	if config.Status.State != metalv1.ServerBootConfigurationStateError || web.Status.Phase != metalv1.ServerClaimPhaseBound {
		t.Errorf("boot configuration %s, claim %s", config.Status.State, web.Status.Phase)
	}
	if last := l.machine(p, name).Record(); last[len(last)-1].Outcome != sim.OutcomeProbe {
		t.Errorf("the machine was booted without its ignition: %+v", last[len(last)-1])
	}
	p.setSecret("web", map[string]string{"format": "fcos", "ignition": "variant: fcos\nversion: 1.5.0\n"})
	p.boots(l.machine(p, name), sim.OutcomeInstalled)
	p.explains(web, func() []metav1.Condition { return web.Status.Conditions }, metalv1.ConditionBootReady, "BootConfigurationReady")
	p.explains(server, func() []metav1.Condition { return server.Status.Conditions }, metalv1.ConditionBootReady, "BootConfigurationReady")
}

// TestAChangeInsideAnIgnitionSecret of a machine that is installed once is said on the Server and on the claim, and installed
// when somebody asks for that; what is written to the Secret beside it is nobody's business.
func TestAChangeInsideAnIgnitionSecret(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--allow-unauthenticated-probe")
	l.discover(p)
	l.ignition(p, "web", "ignition")
	web := l.claim(p, "web", func(c *metalv1.ServerClaim) {
		c.Annotations = map[string]string{metalv1.AnnotationBootPolicy: string(metalv1.BootPolicyOnce)}
	})
	name := p.bound("web")
	machine := l.machine(p, name)
	first := p.boots(machine, sim.OutcomeInstalled)
	installed := func() {
		t.Helper()
		p.Eventually("the machine tells that it has booted", func(ctx context.Context) error { return p.tellBooted(ctx, machine) })
		p.Eventually("the machine is installed", func(ctx context.Context) error {
			var s metalv1.Server
			if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
				return err
			}
			if s.Annotations[metalv1.AnnotationInstalled] == "" {
				return fmt.Errorf("annotations %v", s.Annotations)
			}
			return nil
		})
	}
	installed()
	server := &metalv1.Server{ObjectMeta: objectMeta("", name)}
	said := func(reason string, words ...string) {
		t.Helper()
		p.explains(server, func() []metav1.Condition { return server.Status.Conditions }, metalv1.ConditionBootReady, reason, words...)
		p.explains(web, func() []metav1.Condition { return web.Status.Conditions }, metalv1.ConditionBootReady, reason, words...)
	}
	said("BootConfigurationReady")
	const text = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,2"}}]}}`
	p.setSecret("web", map[string]string{"ignition": text, "note": "not for machines"})
	said(metalv1.ReasonReinstallPending, "ignition", metalv1.AnnotationReinstall)
	p.setSecret("web", map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`, "note": "as it was"})
	said("BootConfigurationReady")
	p.setSecret("web", map[string]string{"ignition": text})
	said(metalv1.ReasonReinstallPending)
	p.Kill()
	p = l.up(t, "--allow-unauthenticated-probe")
	p.observed(name)
	said(metalv1.ReasonReinstallPending)
	if records := machine.Record(); records[len(records)-1].Number != first.Number {
		t.Errorf("nobody asked, and the machine was booted: %d, before %d", records[len(records)-1].Number, first.Number)
	}

	before := web.DeepCopy()
	metav1.SetMetaDataAnnotation(&web.ObjectMeta, metalv1.AnnotationReinstall, "with the new message of the day")
	if err := p.Patch(t.Context(), web, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the machine boots again", func(context.Context) error {
		if records := machine.Record(); records[len(records)-1].Number == first.Number {
			return fmt.Errorf("boot %d is the last", first.Number)
		}
		return nil
	})
	second := p.boots(machine, sim.OutcomeInstalled)
	was, _ := first.Fetched(sim.WhatIgnition)
	if is, ok := second.Fetched(sim.WhatIgnition); !ok || is.SHA256 == was.SHA256 {
		t.Errorf("ignition %+v, before %+v", is, was)
	}
	installed()
	said("BootConfigurationReady")
}

// tellBooted is the installed system of a machine, which tells that it has booted.
func (p *running) tellBooted(ctx context.Context, machine *sim.Machine) error {
	body, err := json.Marshal(map[string]any{"systemUUID": machine.UUID(), "booted": true})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Boot+"/bootstate", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := testlab.CallerAt(machine.IP()).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("bootstate: %s", response.Status)
	}
	return nil
}
