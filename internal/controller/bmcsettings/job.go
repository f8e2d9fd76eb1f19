package bmcsettings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// jobBudget is for some dozens of requests to a slow BMC, one of which is a registry of a megabyte.
const jobBudget = 5 * time.Minute

// look is what one job has found. It is written by the job and read when that has ended.
type look struct {
	// begun is when, asked for which settings, and of for which step, if for one.
	begun time.Time
	asked string
	of    time.Time
	// sent are the settings that an earlier job has sent and that the BMC does not show.
	sent []string

	// differing names what is not as asked for, hidden what was sent and is not shown.
	differing, hidden []string
	// refused is why the BMC cannot have a setting, a Terminal; nil: it can have all, as far as it tells.
	refused error
	// restart says that a setting that was sent is taken over at a restart of the BMC.
	restart bool
	task    bmc.Task
	err     error

	attributes bmc.ManagerAttributes
	values     map[string]any // what is sent of the attributes
	documents  map[string]bmc.Document
	// registry is that of the attributes, read once for each BMC: it is a megabyte.
	registry     bmc.AttributeRegistry
	registryRead bool
}

// again lets a job use the registry that the one before it has read.
func (l *look) again(before *look) {
	if before != nil && before.registryRead {
		l.registry, l.registryRead = before.registry, true
	}
}

// read compares what the BMC shows with what is wanted.
func (l *look) read(ctx context.Context, s fleet.Services, wanted []setting) error {
	l.differing, l.hidden, l.refused, l.values, l.documents = nil, nil, nil, map[string]any{}, map[string]bmc.Document{}
	attributes := slices.DeleteFunc(slices.Clone(wanted), func(w setting) bool { return w.method != "" })
	if len(attributes) > 0 {
		if err := l.readAttributes(ctx, s, attributes); err != nil {
			return err
		}
	}
	for _, w := range wanted {
		if w.method == "" {
			continue
		}
		if err := l.readDocument(ctx, s, w); err != nil {
			return err
		}
	}
	return nil
}

// counts notes how a setting stands. What is hidden differs until it was sent.
func (l *look) counts(name string, m match) {
	switch {
	case m == contained:
	case m == hidden && slices.Contains(l.sent, name):
		l.hidden = append(l.hidden, name)
	default:
		l.differing = append(l.differing, name)
	}
}

func (l *look) refuse(err error) {
	if l.refused == nil {
		l.refused = err
	}
}

func (l *look) readAttributes(ctx context.Context, s fleet.Services, wanted []setting) error {
	var err error
	l.attributes, err = s.ManagerAttributes(ctx)
	if bmc.KindOf(err) == bmc.KindUnsupported {
		for _, w := range wanted {
			l.differing = append(l.differing, w.name)
		}
		l.refuse(reconcileerror.Terminalf(reasonNoAttributes, "attribute %q: the BMC shows no attributes; write its settings as documents, such as \"PATCH /redfish/v1/Managers/1/NetworkProtocol\"", shown(wanted[0].name)))
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the attributes of the BMC: %w", err)
	}
	var differing []setting
	for _, w := range wanted {
		now, there := l.attributes.Attributes[w.name]
		m := differs
		if there && bmc.ShowsAs(now, w.text.reveal()) {
			m = contained
		} else if there && w.text.secret && masked(now) {
			m = hidden
		}
		l.counts(w.name, m)
		if slices.Contains(l.differing, w.name) {
			differing = append(differing, w)
		}
	}
	if len(differing) == 0 {
		return nil
	}
	if err := l.readRegistry(ctx, s); err != nil {
		return err
	}
	for _, w := range differing {
		value, err := w.check(l.registry, l.attributes.Attributes)
		if err != nil {
			l.refuse(err)
			continue
		}
		l.values[w.name] = value
	}
	return nil
}

func (l *look) readRegistry(ctx context.Context, s fleet.Services) error {
	if l.registryRead {
		return nil
	}
	var all bmc.AttributeRegistry
	for _, name := range l.attributes.Registries {
		registry, err := s.AttributeRegistry(ctx, name)
		if bmc.KindOf(err) == bmc.KindUnsupported {
			continue // then the values that are there tell what they may be
		}
		if err != nil {
			return fmt.Errorf("read the attribute registry: %w", err)
		}
		for attribute, row := range registry {
			if all == nil {
				all = bmc.AttributeRegistry{}
			}
			all[attribute] = row
		}
	}
	l.registry, l.registryRead = all, true
	return nil
}

func (l *look) readDocument(ctx context.Context, s fleet.Services, w setting) error {
	d, err := s.Document(ctx, w.uri)
	if e, ok := errors.AsType[*bmc.Error](err); ok && (e.Kind == bmc.KindRejected || e.Kind == bmc.KindUnsupported || e.Kind == bmc.KindProtocol) {
		l.differing = append(l.differing, w.name)
		l.refuse(reconcileerror.Terminal{Reason: reasonResourceMissing, Err: fmt.Errorf("spec.settings[%q]: the BMC shows no resource to compare with: %w", shown(w.name), err)})
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", w.uri, err)
	}
	l.documents[w.name] = d
	m := contains(d.Body, w.document(), w.text.secret)
	if w.method == http.MethodPost {
		if m, err = l.member(ctx, s, w, d); err != nil {
			return err
		}
	}
	l.counts(w.name, m)
	return nil
}

// member looks for what is to be added to a collection among its members.
func (l *look) member(ctx context.Context, s fleet.Services, w setting, d bmc.Document) (match, error) {
	if d.Members == nil {
		l.refuse(reconcileerror.Terminalf(reasonInvalidMethod, "spec.settings[%q]: POST adds to collections, and the resource is none: use PATCH", shown(w.name)))
		return differs, nil
	}
	best := differs
	for _, uri := range d.Members {
		member, err := s.Document(ctx, uri)
		if bmc.Unreachable(err) {
			return differs, fmt.Errorf("read %s: %w", uri, err)
		}
		if err == nil {
			best = max(best, contains(member.Body, w.document(), w.text.secret))
		}
		if best == contained {
			break
		}
	}
	return best, nil
}

// write sends what is not so. Doing it again sends only what is not so then.
func (l *look) write(ctx context.Context, s fleet.Services, wanted []setting) error {
	if err := l.read(ctx, s, wanted); err != nil {
		return err
	}
	if l.refused != nil {
		return l.refused
	}
	sent := slices.Clone(l.differing)
	if len(l.values) > 0 {
		for name := range l.values {
			l.restart = l.restart || l.registry[name].SaysReset
		}
		tasks, err := s.SetManagerAttributes(ctx, l.attributes, l.values)
		if err != nil {
			return fmt.Errorf("write the attributes of the BMC: %w", told(err, wanted))
		}
		if len(tasks) > 0 {
			l.task = tasks[len(tasks)-1]
		}
	}
	for _, w := range wanted {
		if w.method == "" || !slices.Contains(sent, w.name) {
			continue
		}
		task, err := s.SendDocument(ctx, w.method, l.documents[w.name], w.document())
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, told(err, wanted))
		}
		if task.URI != "" {
			l.task = task
		}
	}
	for _, w := range wanted {
		if w.text.secret && slices.Contains(sent, w.name) && !slices.Contains(l.sent, w.name) {
			l.sent = append(l.sent, w.name) // what is no secret is shown
		}
	}
	task := l.task
	err := l.read(ctx, s, wanted)
	l.task = task
	return err
}

// follow reads the settings, and the task that a change was made.
func (l *look) follow(ctx context.Context, s fleet.Services, task string, wanted []setting) error {
	if task != "" {
		var err error
		if l.task, err = s.Task(ctx, task); bmc.Unreachable(err) {
			return fmt.Errorf("read the task: %w", err)
		}
		if secretIn(wanted) {
			l.task.Message = leftOut
		}
	}
	return l.read(ctx, s, wanted)
}

// leftOut stands for the words of a BMC that was sent something of a Secret.
const leftOut = "the words of the BMC are left out, for settings contain parts of Secrets"

func secretIn(wanted []setting) bool {
	return slices.ContainsFunc(wanted, func(w setting) bool { return w.text.secret })
}

// told is an error without what a BMC may have repeated.
func told(err error, wanted []setting) error {
	if !secretIn(wanted) {
		return err
	}
	if e, ok := errors.AsType[*bmc.Error](err); ok {
		quiet := *e
		quiet.Message, quiet.Err = leftOut, nil
		return &quiet
	}
	return errors.New(leftOut)
}

// notNow says that a BMC may do later what it would not do now.
func notNow(err error) bool {
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && (e.Kind == bmc.KindServer || bmc.Unreachable(err))
}
