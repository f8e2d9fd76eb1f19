package derivedboot

import (
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestWhatIsNotSaidYetIsKnown: until status says something itself, and not of another boot configuration of that name.
func TestWhatIsNotSaidYetIsKnown(t *testing.T) {
	c, config := newTold(), internal()
	var woken []string
	c.Described = func(server string) { woken = append(woken, server) }
	ready := &metalv1.ServerBootConfigurationStatus{State: metalv1.ServerBootConfigurationStateReady}
	is := func(what string, config *metalv1.ServerBootConfiguration, want metalv1.ServerBootConfigurationState, wakes int) {
		t.Helper()
		if got := c.Status(config).State; got != want || len(woken) != wakes {
			t.Errorf("%s: %q, want %q; woken %d times, want %d", what, got, want, len(woken), wakes)
		}
	}
	c.Describe(config, ready)
	is("before anybody has looked at it", config, "", 0)
	c.Look(config)
	c.Describe(config, ready)
	is("described", config, metalv1.ServerBootConfigurationStateReady, 1)
	c.Describe(config, ready)
	is("described again", config, metalv1.ServerBootConfigurationStateReady, 1)
	ready.State = metalv1.ServerBootConfigurationStatePending
	is("what was given is changed later", config, metalv1.ServerBootConfigurationStateReady, 1)
	c.Describe(config, ready)
	is("described otherwise", config, metalv1.ServerBootConfigurationStatePending, 2)

	said := internal()
	said.Status.State = metalv1.ServerBootConfigurationStateError
	is("status says something", said, metalv1.ServerBootConfigurationStateError, 2)
	next := internal()
	next.UID = "v"
	is("the next of that name", next, "", 2)
	c.Describe(config, nil)
	is("status is not silent any more", config, "", 2)
	c.Describe(config, ready)
	c.Drop(key)
	is("it is gone", config, "", 3)
	if got := (*Configs)(nil).Status(said); got.State != said.Status.State {
		t.Errorf("where nothing is derived it is %+v", got)
	}
}
