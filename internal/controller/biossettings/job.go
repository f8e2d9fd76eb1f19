package biossettings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// jobBudget is for a handful of requests to a slow BMC, one of which is a registry of a megabyte.
const jobBudget = 2 * time.Minute

// look is what was read of a BIOS by one job. It is written by the job and read when that has ended.
type look struct {
	// begun is when, asked for which settings, and of for which step, if for one.
	begun time.Time
	asked string
	of    time.Time

	bios bmc.BIOS
	// registry is nil where the BMC has none, or nothing differs.
	registry bmc.AttributeRegistry
	// task is what the BMC made of the last change, where it made one.
	task bmc.Task
	err  error
}

// read looks at a BIOS, and at the registry where something is not as wanted.
func (l *look) read(ctx context.Context, s fleet.Services, system string, wanted map[string]string) error {
	var err error
	if l.bios, err = s.BIOS(ctx, system); err != nil {
		return fmt.Errorf("read the BIOS settings: %w", err)
	}
	if len(differing(wanted, l.bios.Attributes)) == 0 {
		return nil
	}
	l.registry, err = s.AttributeRegistry(ctx, l.bios.Registry)
	if bmc.KindOf(err) == bmc.KindUnsupported {
		return nil // then the values that are there tell what they may be
	}
	if err != nil {
		return fmt.Errorf("read the attribute registry: %w", err)
	}
	return nil
}

// write sends what is neither so nor about to be. Doing it again sends nothing.
func (l *look) write(ctx context.Context, s fleet.Services, system string, wanted map[string]string) error {
	if err := l.read(ctx, s, system, wanted); err != nil {
		return err
	}
	names := differing(wanted, l.bios.Attributes)
	pending, err := s.PendingBIOS(ctx, l.bios)
	if err != nil {
		return fmt.Errorf("read the BIOS settings that wait: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		value, waits := pending[name]
		return waits && same(value, wanted[name])
	})
	if len(names) == 0 {
		return nil
	}
	values, err := change(names, wanted, l)
	if err != nil {
		return err
	}
	apply := "OnReset"
	if !slices.Contains(l.bios.ApplyTimes, apply) {
		apply = "" // the BMC has its own idea
	}
	if l.task, err = s.SetBIOS(ctx, l.bios, values, apply); err != nil {
		return fmt.Errorf("write the BIOS settings: %w", err)
	}
	// What needs no reset is so already.
	if l.bios, err = s.BIOS(ctx, system); err != nil {
		return fmt.Errorf("read the BIOS settings: %w", err)
	}
	return nil
}

// follow looks at a BIOS, and at the task that a change was made.
func (l *look) follow(ctx context.Context, s fleet.Services, system, task string, wanted map[string]string) error {
	if task != "" {
		var err error
		if l.task, err = s.Task(ctx, task); err != nil && bmc.Unreachable(err) {
			return fmt.Errorf("look at the task: %w", err)
		}
	}
	return l.read(ctx, s, system, wanted)
}

// notNow says that a BMC may do later what it would not do now: it is busy, or its machine is in POST, during which
// some refuse changes as unsupported.
func notNow(err error) bool {
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && (e.Kind == bmc.KindServer || e.MessageID == "UnsupportedOperation" || bmc.Unreachable(err))
}
