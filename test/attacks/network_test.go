package attacks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
)

// stranger is somebody on the provisioning network who is none of the machines.
type stranger struct {
	t    *testing.T
	p    *lab.Running
	http *http.Client
}

func newStranger(t *testing.T, p *lab.Running, address string) *stranger {
	return &stranger{t: t, p: p, http: lab.CallerAt(netip.MustParseAddr(address))}
}

// asks sends a request and returns status and body; 0: it failed.
func (s *stranger) asks(ctx context.Context, method, path, body string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, s.p.Boot+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	response, err := s.http.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(text)
}

var tokenInText = regexp.MustCompile(`(?:token=|/probe/)([A-Za-z0-9_-]{43})`)

// forge is what a stranger says who wants a machine to be taken for clean: that its only disk is an invented one, and wiped.
func forge(uuid string, wiped bool) string {
	report := `{"systemUUID":"` + uuid + `","data":{"capabilities":["clean-metadata","clean-full"],"storage":[{"name":"sda","path":"/dev/sda","serial":"FORGED","sizeBytes":1000}]`
	if wiped {
		report += `,"cleanup":[{"path":"/dev/sda","serial":"FORGED","method":"sanitize","seconds":1,"result":"ok"}]`
	}
	return report + "}}"
}

// hunts asks for a token of a machine by every way there is until ctx ends, and reports a wipe with any that it gets. It returns the tokens.
func (s *stranger) hunts(ctx context.Context, m *sim.Machine) map[string]bool {
	found := map[string]bool{}
	for ctx.Err() == nil {
		for _, path := range []string{
			"/ipxe/" + m.UUID(), "/ipxe/?mac=" + m.MAC() + "&serial=" + m.Serial(), "/probe/" + m.UUID(), "/ignition/" + m.UUID(),
		} {
			_, text := s.asks(ctx, http.MethodGet, path, "")
			for _, match := range tokenInText.FindAllStringSubmatch(text, -1) {
				found[match[1]] = true
			}
		}
		for token := range found {
			s.asks(ctx, http.MethodPost, "/probe/"+token+"/register", forge(m.UUID(), false))
			s.asks(ctx, http.MethodPost, "/probe/"+token+"/register", forge(m.UUID(), true))
			s.asks(ctx, http.MethodPost, "/probe/"+token+"/bootstate", `{"systemUUID":"`+m.UUID()+`","booted":true}`)
		}
	}
	return found
}

// alarmed waits until a Server says that somebody else asked for what is for its machine.
func alarmed(p *lab.Running, server string) {
	p.Eventually("alarm of "+server, func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: server}, &s); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(s.Status.Conditions, metalv1.ConditionBootAlarm) {
			return errors.New("no alarm: " + lab.ConditionsText(s.Status.Conditions))
		}
		return nil
	})
}

// TestAForgedWipe: a stranger asks for the token of a cleanup from before the machine is switched on until all is over, and reports that an invented
// disk was wiped, while the machine itself boots. The server is not handed on unless its own disks were wiped.
func TestAForgedWipe(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t, "--cleanup", "full") // so that nothing at all is left of what was there
	l.Discover(p)
	claim, server, machine := l.Runs(p, "victim")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hunt sync.WaitGroup
	hunt.Go(func() { newStranger(t, p, "127.66.6.6").hunts(ctx, machine) })
	if err := p.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the cleanup is over", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: server.Name}, &s); err != nil {
			return err
		}
		if s.Status.State != metalv1.ServerStateAvailable && s.Status.State != metalv1.ServerStateError {
			return fmt.Errorf("is %s", s.Status.State)
		}
		if s.Status.State == metalv1.ServerStateAvailable {
			for _, disk := range machine.Disks() {
				if traces := disk.Traces(); len(traces) > 0 {
					t.Errorf("the server is Available, and %s still holds %v", disk.Path(), traces)
				}
			}
		}
		return nil
	})
	alarmed(p, server.Name)
	stop()
	hunt.Wait()
}

// TestAForgedDiscovery: without a token nothing is stored, and nobody but the machine is told one.
func TestAForgedDiscovery(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	machine := l.Machine(0)
	var hunt sync.WaitGroup
	// It begins before the machine is known at all: there is no time at which a token is for whoever asks.
	hunt.Go(func() {
		s := newStranger(t, p, "127.66.6.7")
		for ctx.Err() == nil {
			if status, text := s.asks(ctx, http.MethodPost, "/register", forge(machine.UUID(), false)); status == http.StatusCreated {
				t.Errorf("a report without a token was stored: %s", text)
			}
			if status, text := s.asks(ctx, http.MethodGet, "/probe/"+machine.UUID(), ""); status == http.StatusOK {
				t.Errorf("a stranger was told where to report to: %s", text)
			}
		}
	})
	l.Discover(p)
	stop()
	hunt.Wait()
}

// TestSecretsOfARunningMachine: by UUID, MAC address or serial number a stranger gets neither ignition nor token of a machine that runs, also
// where the token is needed anyway, and also after the product was started anew. The machine itself gets both when it boots again.
func TestSecretsOfARunningMachine(t *testing.T) {
	t.Parallel()
	for _, access := range []string{"expected", "token"} {
		t.Run(access, func(t *testing.T) {
			l := lab.New(t, 1)
			p := l.Up(t, "--ignition-access", access)
			l.Discover(p)
			_, server, machine := l.Runs(p, "victim")
			steal := func() {
				t.Helper()
				s := newStranger(t, p, "127.66.6.8")
				for _, path := range []string{
					"/ipxe/" + machine.UUID(), "/ipxe/?mac=" + machine.MAC(), "/ipxe/?serial=" + machine.Serial(), "/ignition/" + machine.UUID(),
					"/ignition/" + machine.UUID() + "?token=" + strings.Repeat("A", 43), "/probe/" + machine.UUID(),
				} {
					status, text := s.asks(t.Context(), http.MethodGet, path, "")
					if tokenInText.MatchString(text) || strings.Contains(text, `"ignition"`) {
						t.Errorf("%s: %d %s", path, status, text)
					}
				}
			}
			steal()
			alarmed(p, server.Name)
			p.Eventually("who boots is written down", func(ctx context.Context) error {
				var config metalv1.ServerBootConfiguration
				if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: "victim"}, &config); err != nil {
					return err
				}
				if config.Annotations[metalv1.AnnotationBoundTo] == "" {
					return errors.New("it is not")
				}
				return nil
			})
			p.Stop()
			p = l.Up(t, "--ignition-access", access)
			steal()
			itself := newStranger(t, p, machine.IP().String())
			_, script := itself.asks(t.Context(), http.MethodGet, "/ipxe/"+machine.UUID(), "")
			token := tokenInText.FindStringSubmatch(script)
			if token == nil {
				t.Fatalf("the machine's own script has no token when it boots again by itself:\n%s", script)
			}
			if status, text := itself.asks(t.Context(), http.MethodGet, "/ignition/"+machine.UUID()+"?token="+token[1], ""); status != http.StatusOK || !strings.Contains(text, `"ignition"`) {
				t.Errorf("the machine's own ignition: %d %s", status, text)
			}
			steal()
		})
	}
}

// TestAForgedBootState: a claim that is installed once is not installed because a stranger says so, before power-on or after.
func TestAForgedBootState(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t)
	l.Discover(p)
	machine := l.Machine(0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hunt sync.WaitGroup
	var tokens map[string]bool
	hunt.Go(func() { tokens = newStranger(t, p, "127.66.6.9").hunts(ctx, machine) })
	l.Ignition(p, "once", "ignition")
	l.Claim(p, "once", func(c *metalv1.ServerClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationBootPolicy, string(metalv1.BootPolicyOnce))
	})
	p.Bound("once")
	p.Boots(machine, sim.OutcomeInstalled)
	stop()
	hunt.Wait()
	if len(tokens) > 0 {
		t.Errorf("the stranger got %d tokens", len(tokens))
	}
	found := false
	for _, fetch := range p.Boots(machine, sim.OutcomeInstalled).Fetches {
		found = found || fetch.What == sim.WhatIgnition && fetch.Status == http.StatusOK
	}
	if !found {
		t.Error("the machine was taken for installed before it had its ignition")
	}
}

// TestReportsOfNothing: a report of a million empty objects is refused before it is decoded, and one boot may not store what it likes.
func TestReportsOfNothing(t *testing.T) {
	l := lab.New(t, 1)
	p := l.Up(t, "--allow-unauthenticated-probe")
	s := newStranger(t, p, "127.66.6.10")
	body := `{"systemUUID":"` + l.Machine(0).UUID() + `","data":{"storage":[` + strings.Repeat("{},", 1<<20) + `{}]}}`
	for range 4 {
		if status, _ := s.asks(t.Context(), http.MethodPost, "/register", body); status != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", status)
		}
	}
	l.Discover(p)
}
