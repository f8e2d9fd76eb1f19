package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// What the fault bad-update makes of an update.
const (
	updateFails    = "fails"    // the task ends with an exception
	updateVanishes = "vanishes" // the BMC forgets the task, and the update with it
	updateStalls   = "stalls"   // the task stays as it is until the BMC is reset
	updateOther    = "other"    // the firmware comes up with a version that nobody asked for
	updateKeeps    = "keeps"    // the task is completed, and the firmware stays as it is
	updateBricks   = "bricks"   // the machine, or the BMC, never comes up again
)

// otherVersion is what firmware comes up with that was asked for another.
const otherVersion = "0.9.9"

// errUpdating refuses an update while another is under way.
var errUpdating = &failure{
	status: http.StatusConflict, id: "ResourceInUse", text: "The change to the requested resource failed because an update is in progress.",
}

// updatePayload is what the task of an update says of the request it began with. Passwords are left out of it.
func updatePayload(target string, body object) object {
	shown := object{}
	for name, value := range body {
		if name != "Password" {
			shown[name] = value
		}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		text = []byte("{}") // it was JSON when it came
	}
	return object{"HttpOperation": http.MethodPost, "TargetUri": target, "JsonBody": string(text)}
}

// beginUpdate makes the task of an update. A BMC has one update at a time.
func (b *bmc) beginUpdate(name string, payload object) (task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.tasks, func(t task) bool { return t.update && !t.over() }) {
		return task{}, false
	}
	t := b.addTaskLocked(name)
	t.update = true
	if !b.quirks.hidesPayload {
		t.payload = payload
	}
	b.tasks[len(b.tasks)-1] = t
	return t, true
}

// update downloads the image for real, then takes its time to write it.
func (b *bmc) update(id, target, uri string) {
	b.changeTask(id, func(t *task) { t.state, t.percent = taskRunning, 10 })
	if err := b.download(b.rack.ctx, uri); err != nil {
		b.endTask(id, &failure{status: http.StatusBadGateway, id: "OperationFailed", text: "The image could not be fetched: %1.", args: []string{err.Error()}})
		return
	}
	b.write(id, target, versionOf(uri))
}

// versionOf is the version in the name of a file, or "".
func versionOf(uri string) string {
	name := path.Base(uri)
	if parsed, err := url.Parse(uri); err == nil {
		name = path.Base(parsed.Path) + "?" + parsed.RawQuery
	}
	return versionIn.FindString(name)
}

// write writes an image that the BMC has into the flash.
func (b *bmc) write(id, target, version string) {
	b.changeTask(id, func(t *task) { t.percent, t.job = 50, b.quirks.updateBecomesJob })
	bad := ""
	if s, ok := b.struck(fault.BadUpdate, ""); ok {
		bad = s.Value.Text
	}
	switch bad {
	case updateStalls:
		return // only a reset of the BMC ends it
	case updateVanishes:
		b.forgetTasks(func(t task) bool { return t.id == id })
		return
	}
	if !b.rack.wait(b.rack.ctx, b.rack.opts.Timing.Update) {
		return
	}
	if _, there := b.task(id); !there {
		return // the BMC was reset in the middle of it
	}
	switch bad {
	case updateFails:
		b.endTask(id, &failure{status: http.StatusInternalServerError, id: "ApplyFailed", text: "The update image could not be applied."})
		return
	case updateKeeps:
		b.endTask(id, nil)
		return
	case updateOther:
		version = otherVersion
	}
	b.install(id, target, version, bad == updateBricks)
}

// install has what was written come up: the BMC restarts with it, a machine has it at its next start where the vendor's do.
func (b *bmc) install(id, target, version string, bricks bool) {
	m := b.withFirmware(target)
	if m == nil {
		b.installOwn(id, version, bricks)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	done := func() {
		b.updated(target, m.biosVersionLocked(), version, func(v string) { m.biosBackup.version, m.newBIOS = m.biosVersionLocked(), v })
		if b.quirks.biosAtStart != startEndsTask {
			return
		}
		b.endTask(id, nil)
	}
	if bricks {
		done = func() { m.bricked = true }
	}
	switch b.quirks.biosAtStart {
	case startNever:
		done()
		b.endTask(id, nil)
	case startShows:
		m.waitingBIOS = done
		b.endTask(id, nil)
	case startEndsTask:
		m.waitingBIOS = done
		b.changeTask(id, func(t *task) { t.state = taskPending })
	}
}

func (b *bmc) installOwn(id, version string, bricks bool) {
	old := b.firmwareVersion()
	b.updated(firmwareBMC, old, version, func(v string) {
		b.mu.Lock()
		b.ownBackup.version, b.newFirmware = old, v
		b.mu.Unlock()
	})
	b.endTask(id, nil)
	b.restart()
	if bricks {
		b.mu.Lock()
		b.awayUntil = b.rack.opts.Clock.Now().Add(forever)
		b.mu.Unlock()
	}
}

// forever is longer than any test.
const forever = 1000 * time.Hour

// updated notes another version; "" is the next after old.
func (b *bmc) updated(target, old, version string, set func(string)) {
	if version == "" {
		version = old + ".1"
	}
	b.log.add(b.now(), "OK", "Update.1.0.UpdateSuccessful", fmt.Sprintf("%s was updated from %s to %s.", target, old, version))
	set(version)
}

// startBIOSLocked has the firmware that waits for a start.
func (m *Machine) startBIOSLocked() {
	if now, swapped := m.biosBackup.swap(m.biosVersionLocked()); swapped {
		m.newBIOS = now
	}
	if done := m.waitingBIOS; done != nil {
		m.waitingBIOS = nil
		done()
	}
}
