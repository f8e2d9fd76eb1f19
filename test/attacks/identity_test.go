package attacks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
)

// TestIdentityByBMC: a machine boots by a URL that its BMC alone was given. A stranger who asks for everything all the time, from before the
// machine is known, or who has read that URL after its use, gets nothing; the machine does.
func TestIdentityByBMC(t *testing.T) {
	l := lab.New(t, 1)
	if _, err := l.Registry.Push(t.Context(), "probe", "uki", localregistry.SmallUKI(1)); err != nil {
		t.Fatal(err)
	}
	p := l.Up(t, "--boot-identity", "bmc", "--ignition-access", "token", "--probe-os-image", l.Registry.Reference("probe", "uki"))
	machine := l.Machine(0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var hunt sync.WaitGroup
	var tokens map[string]bool
	hunt.Go(func() { tokens = newStranger(t, p, "127.66.6.11").hunts(ctx, machine) })
	info := l.BMCs()[0]
	l.Endpoint(p, info)
	var uki sim.Fetch
	p.Eventually("the machine fetches its image", func(context.Context) error {
		for _, boot := range machine.Record() {
			if fetch, ok := boot.Fetched(sim.WhatUKI); ok {
				uki = fetch
				return nil
			}
		}
		return errors.New("it has not")
	})
	if !strings.HasPrefix(uki.URL, p.Boot+"/httpboot/~") {
		t.Fatalf("the machine fetched %s", uki.URL)
	}
	thief := newStranger(t, p, "127.66.6.12")
	for _, path := range []string{strings.TrimPrefix(uki.URL, p.Boot), "/ignition/" + machine.UUID(), "/probe/" + machine.UUID()} {
		p.Eventually("a thief is refused "+path, func(ctx context.Context) error { // 503 until the BMC shows the machine on
			if status, text := thief.asks(ctx, http.MethodGet, path, ""); status != http.StatusForbidden {
				return fmt.Errorf("%d %.200s", status, text)
			}
			return nil
		})
	}
	// The image of the test runs no probe: the test does, at the machine's address.
	itself := newStranger(t, p, machine.IP().String())
	status, where := itself.asks(t.Context(), http.MethodGet, "/probe/"+machine.UUID(), "")
	token := tokenInText.FindStringSubmatch(where)
	if status != http.StatusOK || token == nil {
		t.Fatalf("the machine is told where to report to: %d %s", status, where)
	}
	stop()
	hunt.Wait()
	if len(tokens) > 0 {
		t.Errorf("the stranger got %d tokens", len(tokens))
	}
	if status, text := thief.asks(t.Context(), http.MethodPost, "/probe/"+token[1]+"/register", forge(machine.UUID(), false)); status != http.StatusForbidden {
		t.Errorf("the thief reports with the token: %d %s", status, text)
	}
	alarmed(p, info.Name+"-system-0")
	if status, text := itself.asks(t.Context(), http.MethodPost, "/probe/"+token[1]+"/register", forge(machine.UUID(), false)); status != http.StatusCreated {
		t.Fatalf("the machine's report: %d %s", status, text)
	}
	p.ServerIs(info.Name+"-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}
