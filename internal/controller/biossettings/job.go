package biossettings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
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
	// registry is nil where the BMC has none, or nothing differs. It is the one called registryOf, once that was read: a registry is a
	// megabyte, and what one job has read the next need not.
	registry     bmc.AttributeRegistry
	registryOf   string
	registryRead bool
	// wrote names what earlier jobs sent to the BMC. foreign names what else waits there to be applied by the next reset, and is no
	// part of what is wanted.
	wrote, foreign []string
	pending        map[string]any
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
		l.registry, l.registryRead = nil, false
		return nil
	}
	if l.registryRead && l.registryOf == l.bios.Registry {
		return nil
	}
	l.registryOf, l.registryRead = l.bios.Registry, true
	l.registry, err = s.AttributeRegistry(ctx, l.bios.Registry)
	if bmc.KindOf(err) == bmc.KindUnsupported {
		return nil // then the values that are there tell what they may be
	}
	if err != nil {
		l.registryRead = false
		return fmt.Errorf("read the attribute registry: %w", err)
	}
	return nil
}

// again lets a job use the registry that the one before it has read.
func (l *look) again(before *look) {
	if before != nil && before.registryRead {
		l.registry, l.registryOf, l.registryRead = before.registry, before.registryOf, true
	}
}

// wait reads what waits at the BMC to be applied by the next reset. all is all that is asked for.
func (l *look) wait(ctx context.Context, s fleet.Services, all map[string]string) error {
	var err error
	if l.pending, err = s.PendingBIOS(ctx, l.bios); err != nil {
		return fmt.Errorf("read the pending BIOS settings: %w", err)
	}
	l.foreign = nil
	for _, name := range slices.Sorted(maps.Keys(l.pending)) {
		// What the BIOS itself does not show, as it shows no passwords, nobody can tell to be a change.
		now, shown := l.bios.Attributes[name]
		_, asked := all[name]
		if shown && !asked && !slices.Contains(l.wrote, name) && !alike(now, l.pending[name]) {
			l.foreign = append(l.foreign, name)
		}
	}
	return nil
}

// alike reports whether two values of a BMC's are one: some tell a number here, and its text there.
func alike(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// unexpected says what waits at the BMC that is somebody else's.
func (l *look) unexpected() error {
	var names []string
	for _, name := range l.foreign[:min(len(l.foreign), maxNamed)] {
		names = append(names, shown(name))
	}
	more := ""
	if n := len(l.foreign) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return reconcileerror.Terminalf(reasonUnexpectedPending,
		"the BMC has pending settings of somebody else, which the next reset would apply too: %s%s; apply or withdraw them, or add them here", strings.Join(names, ", "), more)
}

// maxNamed bounds how many settings a message names.
const maxNamed = 16

// write sends what is neither so nor about to be. Doing it again sends nothing. What an earlier spec has sent and this one
// does not ask for is taken back. all is what all of the flow comes to, wanted what one part does.
func (l *look) write(ctx context.Context, s fleet.Services, system string, wanted, all map[string]string) error {
	if err := l.read(ctx, s, system, wanted); err != nil {
		return err
	}
	names := differing(wanted, l.bios.Attributes)
	if err := l.wait(ctx, s, all); err != nil {
		return err
	}
	if len(l.foreign) > 0 && len(names) > 0 {
		return l.unexpected()
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		value, waits := l.pending[name]
		return waits && bmc.ShowsAs(value, wanted[name])
	})
	values, err := change(names, wanted, l)
	if err != nil {
		return err
	}
	for name, value := range l.pending {
		now, shown := l.bios.Attributes[name]
		if _, asked := all[name]; !asked && shown && !alike(now, value) && slices.Contains(l.wrote, name) {
			values[name] = now
		}
	}
	if len(values) == 0 {
		return nil
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

// compare looks at a BIOS before anything is done to it, and where something differs at what waits there.
func (l *look) compare(ctx context.Context, s fleet.Services, system string, wanted map[string]string) error {
	if err := l.read(ctx, s, system, wanted); err != nil || len(differing(wanted, l.bios.Attributes)) == 0 {
		return err
	}
	if err := l.wait(ctx, s, wanted); err != nil && bmc.Unreachable(err) {
		return err
	}
	return nil // who does not show what waits is found out when something is written
}

// follow looks at a BIOS, and at the task that a change was made.
func (l *look) follow(ctx context.Context, s fleet.Services, system, task string, wanted map[string]string) error {
	if task != "" {
		var err error
		if l.task, err = s.Task(ctx, task); err != nil && bmc.Unreachable(err) {
			return fmt.Errorf("read the task: %w", err)
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
