package controllertest

import (
	"context"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// services is what a fake BMC offers beside power: restarts of itself, light and boot order. What else a test asks for it
// has to bring.
type services struct{ fleet.Services }

// Restarts returns in which ways the BMC was told to restart.
func (b *BMC) Restarts() []bmc.ResetType {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]bmc.ResetType(nil), b.restarts...)
}

// RefusesRestart makes the BMC answer its next restarts with an error, until it is nil.
func (b *BMC) RefusesRestart(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restartErr = err
}

// Logins returns how many answers of each password the BMC has given or refused with.
func (b *BMC) Logins() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := map[string]int{}
	for password, n := range b.asked {
		counts[password] = n
	}
	return counts
}

// Manages changes what the BMC says of itself.
func (b *BMC) Manages(change func(*bmc.Manager)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.manager)
}

// HidesManager makes the BMC give no answer about its manager until show is called, with the error that it is to answer with, if any.
func (b *BMC) HidesManager() (show func(error)) {
	hanging := make(chan error)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hidden = hanging
	return func(err error) {
		hanging <- err
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hidden = nil
	}
}

// hide waits until the manager is shown.
func (c *connection) hide(ctx context.Context) error {
	c.mu.Lock()
	hidden := c.hidden
	c.mu.Unlock()
	if hidden == nil {
		return nil
	}
	select {
	case err := <-hidden:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *connection) ResetManager(_ context.Context, t bmc.ResetType) (bmc.ResetType, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("POST " + c.manager.URI); err != nil {
		return "", err
	}
	c.restarts = append(c.restarts, t)
	return t, c.restartErr
}

// SetIndicator and SetBootOrder are seen at once.
func (c *connection) SetIndicator(_ context.Context, s bmc.System, to bmc.Indicator) error {
	return c.set("PATCH "+s.URI, s.URI, func(now *bmc.System) { now.IndicatorLED = string(to) })
}

func (c *connection) SetBootOrder(_ context.Context, s bmc.System, order []string) error {
	return c.set("PATCH "+s.URI, s.URI, func(now *bmc.System) { now.Boot.Order = order })
}

func (c *connection) set(op, uri string, change func(*bmc.System)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer(op); err != nil {
		return err
	}
	c.settings++
	for i := range c.systems {
		if c.systems[i].URI == uri {
			change(&c.systems[i])
		}
	}
	return nil
}

// Settings counts how often a light or a boot order was set.
func (b *BMC) Settings() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings
}
