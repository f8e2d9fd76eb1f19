package controllertest

import (
	"context"
	"slices"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// firmware is what a fake BMC has of a BIOS: its defaults can be restored.
type firmware struct {
	restored int
	refuses  error
}

// DefaultsRestored counts how often the defaults of the BIOS were ordered.
func (b *BMC) DefaultsRestored() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.restored
}

// RefusesDefaults makes the BMC refuse that, until it is nil.
func (b *BMC) RefusesDefaults(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses = err
}

// Change changes a system, as somebody does who is not Farrier.
func (b *BMC) Change(uri string, change func(*bmc.System)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.systems {
		if b.systems[i].URI == uri {
			change(&b.systems[i])
		}
	}
}

// Order is the boot order of a system.
func (b *BMC) Order(uri string) (order []string) {
	b.Change(uri, func(s *bmc.System) { order = slices.Clone(s.Boot.Order) })
	return order
}

func (c *connection) BIOS(_ context.Context, uri string) (bmc.BIOS, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bmc.BIOS{URI: uri + "/Bios"}, c.answer("GET " + uri + "/Bios")
}

func (c *connection) ResetBIOS(_ context.Context, b bmc.BIOS) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.answer("POST " + b.URI); err != nil {
		return err
	}
	if c.refuses != nil {
		return c.refuses
	}
	c.restored++
	return nil
}

// Running reports whether a system is on.
func (b *BMC) Running(uri string) (on bool) {
	b.Change(uri, func(s *bmc.System) { on = s.PowerState == bmc.PowerOn })
	return on
}
