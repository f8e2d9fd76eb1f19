package firmwareversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/fleet"
)

const (
	// jobBudget is for a handful of requests to a slow BMC, and a list of tasks.
	jobBudget = 2 * time.Minute
	// pushBudget is for an image of a gigabyte besides, to a BMC that takes a megabyte a second.
	pushBudget = 20 * time.Minute
)

var (
	// errLost means that nobody knows what became of a job.
	errLost = errors.New("the job was lost")
	// errAnother means that the BMC updates something else.
	errAnother = errors.New("another update is under way")
)

// look is what one job has found. It is written by the job and read when that has ended.
type look struct {
	// begun is when, asked for which spec, and of for which step.
	begun time.Time
	asked string
	of    time.Time
	// start says that the job was to start an update, sent that it has sent the request for it.
	start, sent bool

	version string
	// tasks are those that the BMC has; nil: they were not read. other is an update among them that is under way.
	tasks []bmc.Task
	other *bmc.Task
	// banked says that the firmware has a second bank, where banksRead says that it was looked for.
	banked, banksRead bool
	// task is that of the update; its URI is empty where there is none. gone says that the BMC does not know it any more.
	task bmc.Task
	gone bool
	err  error
}

// component is what is updated.
type component struct {
	// system is the URI of the system whose BIOS it is; empty: it is the BMC itself.
	system string
	// alone: the BMC has no other system, so that it need not be told which one is meant.
	alone bool
}

// read reads the version.
func (l *look) read(ctx context.Context, s fleet.Services, c component) error {
	if c.system == "" {
		m, err := s.Manager(ctx)
		if err != nil {
			return fmt.Errorf("read the version of the BMC: %w", err)
		}
		l.version = m.FirmwareVersion
		return nil
	}
	system, err := s.System(ctx, c.system)
	if err != nil {
		return fmt.Errorf("read the version of the BIOS: %w", err)
	}
	l.version = system.BIOSVersion
	return nil
}

// list reads the tasks; of a BMC without a task service there are none.
func (l *look) list(ctx context.Context, s fleet.Services) (has bool, err error) {
	l.tasks, err = s.Tasks(ctx)
	switch {
	case bmc.Absent(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the tasks: %w", err)
	}
	l.other = underWay(l.tasks)
	return true, nil
}

// compare looks at a BMC before anything is done to it. banks has it look whether there is a second one.
func (l *look) compare(ctx context.Context, s fleet.Services, c component, banks bool) error {
	if err := l.read(ctx, s, c); err != nil {
		return err
	}
	if banks {
		b, err := s.Banks(ctx, c.system)
		if err != nil && !bmc.Absent(err) {
			return fmt.Errorf("read the banks of the firmware: %w", err)
		}
		l.banked, l.banksRead = len(b.List) > 1, true
	}
	_, err := l.list(ctx, s)
	return err
}

// begin starts an update, unless the BMC has its task already. unsure says that the request for it may have been sent before: a BMC that
// has no tasks to look at is then not sent another.
func (l *look) begin(ctx context.Context, s fleet.Services, c component, i intent, n install, unsure bool) error {
	has, err := l.list(ctx, s)
	if err != nil {
		return err
	}
	if t, found := i.find(l.tasks); found {
		l.task = t
		return nil
	}
	if l.other != nil {
		return fmt.Errorf("%w: %s", errAnother, l.other.URI)
	}
	if !has && unsure {
		return nil // followed by its version alone
	}
	if c.system != "" && !c.alone {
		if n.Targets, err = targets(ctx, s, c.system); err != nil {
			return err
		}
	}
	send, err := n.sender(ctx, s)
	if err != nil {
		return err
	}
	l.sent = true
	if l.task, err = send(); err != nil {
		l.sent = bmc.Unreachable(err) || bmc.KindOf(err) == bmc.KindServer
		return fmt.Errorf("start the update: %w", err)
	}
	return nil
}

// install is an update, and how the BMC gets its image.
type install struct {
	bmc.Update
	// image is sent to a BMC that takes images; nil: the BMC fetches it.
	image *firmwareimage.Image
}

// sender finds out how the BMC gets the image, before anything is sent.
func (n *install) sender(ctx context.Context, s fleet.Services) (func() (bmc.Task, error), error) {
	fetches := func() (bmc.Task, error) { return s.SimpleUpdate(ctx, n.Update) }
	if n.image == nil {
		return fetches, nil
	}
	service, err := s.UpdateService(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read how the BMC is updated: %w", err)
	case !service.TakesImages(), service.MaxImageSize > 0 && n.image.Size > service.MaxImageSize:
		return fetches, nil
	}
	return func() (bmc.Task, error) {
		return s.PushUpdate(ctx, service, n.Update, bmc.Image{Name: n.image.Name, Size: n.image.Size, Open: n.image.Open})
	}, nil
}

// targets finds the BIOS of one of several systems in the inventory of firmware.
func targets(ctx context.Context, s fleet.Services, system string) ([]string, error) {
	list, err := s.Firmware(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the firmware inventory: %w", err)
	}
	for _, f := range list {
		if slices.Contains(f.Of, system) && strings.Contains(strings.ToLower(f.ID+" "+f.Name), "bios") {
			return []string{f.URI}, nil
		}
	}
	return nil, reconcileerror.Terminalf(reasonUpdateRefused, "the BMC has several systems, and its firmware inventory does not say which BIOS is that of %s", system)
}

// follow looks at the task of an update, and at the version.
func (l *look) follow(ctx context.Context, s fleet.Services, c component, task string) error {
	if task != "" {
		var err error
		if l.task, err = s.Task(ctx, task); bmc.Absent(err) {
			l.gone = true
		} else if err != nil {
			return fmt.Errorf("read the task: %w", err)
		}
	}
	return l.read(ctx, s, c)
}

// notNow says that a BMC may do later what it would not do now: it is busy, or its machine is in POST, during which some refuse changes as
// unsupported.
func notNow(err error) bool {
	if errors.Is(err, errAnother) || errors.Is(err, errLost) || errors.Is(err, fleet.ErrNotBegun) {
		return true
	}
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && (e.Kind == bmc.KindServer || e.MessageID == "UnsupportedOperation" || e.MessageID == "ResourceInUse" || bmc.Unreachable(err))
}

// reasonOf is the reason that a Terminal names, or otherwise what is given.
func reasonOf(err error, otherwise string) string {
	if terminal, ok := errors.AsType[reconcileerror.Terminal](err); ok {
		return terminal.Reason
	}
	return otherwise
}
