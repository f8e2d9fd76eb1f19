package firmwareversion

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inStep is a step that began a while ago, with a server that is had.
func inStep(kind *Kind, at step, ago time.Duration, change ...func(*view)) *view {
	var i *item
	if kind.ofBMC {
		i = kind.of(&metalv1.BMCVersion{Spec: metalv1.BMCVersionSpec{BMCRef: &metalv1.LocalObjectReference{Name: "m"}}})
	} else {
		i = kind.of(&metalv1.BIOSVersion{Spec: metalv1.BIOSVersionSpec{ServerRef: &metalv1.LocalObjectReference{Name: "s"}}})
	}
	i.spec.Version, i.spec.Image.URI = "2.5.0", "http://h/image"
	v := &view{
		now: begun.Add(ago), item: i, asked: askedFor(i), process: "p", found: true, answered: true, installed: "2.4.1",
		progress: &progress{Asked: askedFor(i), Step: at, Since: begun, Began: begun, Moved: begun, From: "2.4.1", Task: "/t/1", Said: "Running", Percent: 50},
	}
	if !kind.ofBMC {
		v.system = &fleet.SystemObservation{System: bmc.System{PowerState: bmc.PowerOff, BIOSVersion: "2.4.1"}, Seen: begun}
		v.component = component{system: "/s", alone: true}
		v.progress.Powered = true
	}
	v.aim()
	v.hop = v.goal
	v.image, v.problem = imageOf(&v.hop)
	for _, c := range change {
		c(v)
	}
	return v
}

// found is what the last job came to.
func found(l look) func(*view) {
	return func(v *view) {
		l.begun, l.asked, l.of = v.now, v.asked, v.progress.Since
		if l.version == "" {
			l.version = "2.4.1"
		}
		v.looked = &l
	}
}

func task(said string, percent int) bmc.Task {
	states := map[string]bmc.TaskState{"Completed": bmc.TaskCompleted, "Exception": bmc.TaskFailed}
	t := bmc.Task{URI: "/t/1", Said: said, Percent: percent, State: states[said]}
	if t.State == "" {
		t.State = bmc.TaskRunning
	}
	return t
}

func restarted(v *view) { v.progress.Restarted = true }
func wasReset(v *view)  { v.progress.Reset = true }

// TestWhatFollows: which step follows what the BMC says, and for what reason an attempt fails.
func TestWhatFollows(t *testing.T) {
	refused := &bmc.Error{Kind: bmc.KindRejected, StatusCode: 400, Message: "no"}
	busy := &bmc.Error{Kind: bmc.KindServer, StatusCode: 503}
	said := func(word string, percent int) func(*view) {
		return func(v *view) { v.progress.Said, v.progress.Percent = word, percent }
	}
	untracked := func(v *view) { v.progress.Task = "" }
	silentFor := func(d time.Duration) func(*view) {
		return func(v *view) { v.unreachable, v.silentSince = errors.New("no answer"), v.now.Add(-d) }
	}
	for name, tc := range map[string]struct {
		view   *view
		step   step
		reason string
		look   bool
	}{
		"the version is there":                      {view: inStep(BIOS, stepBegin, 0, found(look{version: "2.5"})), step: stepFinish},
		"it is another":                             {view: inStep(BIOS, stepBegin, 0, found(look{})), step: stepOff},
		"it is another of a BMC":                    {view: inStep(BMC, stepBegin, 0, found(look{})), step: stepStart},
		"an update of somebody else":                {view: inStep(BMC, stepBegin, 0, found(look{other: &bmc.Task{URI: "/t/9"}})), step: stepBegin},
		"an update of somebody else, for long":      {view: inStep(BMC, stepBegin, anotherTimeout, found(look{other: &bmc.Task{URI: "/t/9"}})), step: stepFinish, reason: reasonAnotherUpdate},
		"no setup to start into":                    {view: inStep(BIOS, stepBegin, 0, found(look{}), func(v *view) { v.system.Boot.Targets = []string{"Pxe"} }), step: stepFinish, reason: reasonNoIsolationBoot},
		"the update is refused":                     {view: inStep(BMC, stepStart, time.Second, found(look{start: true, err: refused})), step: stepFinish, reason: reasonUpdateRefused},
		"the BMC is busy":                           {view: inStep(BMC, stepStart, time.Second, found(look{start: true, err: busy})), step: stepStart},
		"the BMC is busy for long":                  {view: inStep(BMC, stepStart, startTimeout, found(look{start: true, err: busy})), step: stepFinish, reason: reasonUpdateRefused},
		"a task":                                    {view: inStep(BMC, stepStart, time.Second, found(look{start: true, task: task("New", 0)})), step: stepFollow},
		"it goes on":                                {view: inStep(BIOS, stepFollow, time.Minute, found(look{task: task("Running", 50)})), step: stepFollow},
		"it has failed":                             {view: inStep(BIOS, stepFollow, time.Minute, said("Exception", 50), found(look{task: task("Exception", 50)})), step: stepFinish, reason: reasonTaskFailed},
		"it waits for a start":                      {view: inStep(BIOS, stepFollow, time.Minute, said("Pending", 50), found(look{task: task("Pending", 50)})), step: stepRestart},
		"a BMC's waits for no start":                {view: inStep(BMC, stepFollow, time.Minute, said("Pending", 50), found(look{task: task("Pending", 50)})), step: stepFollow},
		"it has ended, and a start is needed":       {view: inStep(BIOS, stepFollow, 0, said("Completed", 100), found(look{task: task("Completed", 100)})), step: stepRestart},
		"it has ended, after the start":             {view: inStep(BIOS, stepFollow, time.Minute, restarted, said("Completed", 100), found(look{task: task("Completed", 100)})), step: stepFollow},
		"long after the start":                      {view: inStep(BIOS, stepFollow, verifyTimeout, restarted, said("Completed", 100), found(look{task: task("Completed", 100)})), step: stepFinish, reason: reasonUnchanged},
		"a third version after the start":           {view: inStep(BIOS, stepFollow, settleTime, restarted, said("Completed", 100), found(look{task: task("Completed", 100), version: "2.6"})), step: stepFinish, reason: reasonWrongVersion},
		"a third version, for now":                  {view: inStep(BMC, stepFollow, time.Second, said("Completed", 100), found(look{task: task("Completed", 100), version: "2.6"})), step: stepFollow},
		"the version before the task has ended":     {view: inStep(BMC, stepFollow, time.Minute, found(look{task: task("Running", 50), version: "2.5.0"})), step: stepFollow},
		"the version, and a task that does not end": {view: inStep(BMC, stepFollow, endGrace, found(look{task: task("Running", 50), version: "2.5.0"})), step: stepFinish},
		"it stands still":                           {view: inStep(BIOS, stepFollow, stallTimeout, found(look{task: task("Running", 50)})), step: stepReset},
		"it stands still after a reset":             {view: inStep(BIOS, stepFollow, stallTimeout, wasReset, found(look{task: task("Running", 50)})), step: stepFinish, reason: reasonTaskStuck},
		"it has gone with a reset":                  {view: inStep(BIOS, stepFollow, settleTime, wasReset, found(look{gone: true})), step: stepFinish, reason: reasonTaskStuck},
		"it has gone":                               {view: inStep(BIOS, stepFollow, time.Minute, found(look{gone: true})), step: stepFollow},
		"it has gone, and time for it has passed":   {view: inStep(BIOS, stepFollow, unseenTime, found(look{gone: true})), step: stepRestart},
		"it has gone for good":                      {view: inStep(BMC, stepFollow, verifyTimeout, found(look{gone: true})), step: stepFinish, reason: reasonTaskVanished},
		"there is none":                             {view: inStep(BIOS, stepFollow, time.Minute, untracked, found(look{})), step: stepFollow},
		"there was none, and nothing happened":      {view: inStep(BMC, stepFollow, verifyTimeout, untracked, found(look{})), step: stepFinish, reason: reasonUnchanged},
		"all the time is over":                      {view: inStep(BIOS, stepFollow, attemptTimeout, found(look{task: task("Running", 51)})), step: stepFinish, reason: reasonTimedOut},
		"a BMC that restarts":                       {view: inStep(BMC, stepFollow, 3*time.Minute, silentFor(2*time.Minute)), step: stepFollow, look: true},
		"a BMC that does not come back":             {view: inStep(BMC, stepFollow, time.Hour, silentFor(verifyTimeout)), step: stepFinish, reason: reasonBMCNotBack},
		"a BMC that is silent under a BIOS":         {view: inStep(BIOS, stepFollow, time.Hour, silentFor(verifyTimeout)), step: stepFollow},
		"off":                                       {view: inStep(BIOS, stepOff, time.Second, func(v *view) { v.system.Seen = v.now }), step: stepStart},
		"on":                                        {view: inStep(BIOS, stepOn, time.Second, func(v *view) { v.system.Seen, v.system.PowerState = v.now, bmc.PowerOn }), step: stepFollow},
		"it does not start":                         {view: inStep(BIOS, stepOn, time.Minute, func(v *view) { v.command = fleet.CommandStatus{State: fleet.Failed, Err: fleet.ErrNotObserved} }), step: stepFinish, reason: reasonMachineNotStarted},
		"the BMC was reset":                         {view: inStep(BIOS, stepReset, time.Minute, func(v *view) { v.command.State = fleet.Succeeded }), step: stepFollow},
		"all is done":                               {view: inStep(BIOS, stepFinish, time.Second), step: stepDone},
		"a BMC that was given up and is silent":     {view: inStep(BMC, stepFinish, time.Second, silentFor(time.Hour), func(v *view) { v.progress.GaveUp, v.progress.Reason = true, reasonBMCNotBack }), step: stepFailed, reason: reasonBMCNotBack},
		"the target is deleted":                     {view: inStep(BMC, stepFollow, time.Second, func(v *view) { v.found = false }), step: stepFailed, reason: reasonBMCNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			p := tc.view.decide()
			if p.progress.Step != tc.step || p.progress.Reason != tc.reason {
				t.Errorf("step %s, reason %q (%s)", p.progress.Step, p.progress.Reason, p.progress.Message)
			}
			if tc.look && !p.look {
				t.Error("it is not looked at")
			}
			if tc.view.progress.Step == stepBegin && p.progress.Step == stepOff && !p.progress.Powered {
				t.Error("forgets that the machine was switched")
			}
		})
	}
}

// TestRetries: as many as the policy allows, with pauses that grow, and none for what would not differ.
func TestRetries(t *testing.T) {
	policy := func(v *view) { v.item.spec.RetryPolicy = &metalv1.RetryPolicy{MaxAttempts: ptr.To(int32(2))} }
	v := inStep(BMC, stepFollow, time.Minute, policy)
	var pauses []time.Duration
	for {
		var p plan
		v.fail(&p, reasonTaskFailed, strings.Repeat("x", 2*longestMessage))
		if len(p.progress.Message) > longestMessage || p.progress.Task != "" || p.progress.From != "" {
			t.Errorf("remembers %+v", p.progress)
		}
		v.progress = p.progress
		if v.progress.GaveUp {
			break
		}
		pauses = append(pauses, v.progress.NotBefore.Sub(v.now))
	}
	if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute}, pauses); diff != "" {
		t.Errorf("pauses (-want +got)\n%s", diff)
	}
	v = inStep(BMC, stepFollow, settleTime, policy, found(look{task: task("Completed", 100), version: "9"}))
	v.progress.Said, v.progress.Percent = "Completed", 100
	if p := v.decide(); !p.progress.GaveUp {
		t.Error("tries again what would not differ")
	}
}

// TestWhoseTaskItIs: known by its image, or else by when it began.
func TestWhoseTaskItIs(t *testing.T) {
	update := bmc.Task{URI: "/t/2", Name: "Firmware update", Start: begun.Add(time.Second)}
	with := func(change func(*bmc.Task)) bmc.Task { t := update; change(&t); return t }
	i := intent{images: []string{"http://h/image", "http://farrier/image"}, at: begun, known: []string{"/t/1", "/t/2@2026-03-01T11:00:00Z"}}
	for name, tc := range map[string]struct {
		task bmc.Task
		i    intent
		ours bool
	}{
		"an update since":           {update, i, true},
		"of our image":              {with(func(t *bmc.Task) { t.Image = i.images[0] }), i, true},
		"of another image":          {with(func(t *bmc.Task) { t.Image = "http://h/other" }), i, false},
		"something else":            {with(func(t *bmc.Task) { t.Name = "Clear the log" }), i, false},
		"something else by its URI": {with(func(t *bmc.Task) { t.Target = "/redfish/v1/Systems/1/Bios" }), i, false},
		"a nameless update": {with(func(t *bmc.Task) {
			t.Name, t.Target = "", "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"
		}), i, true},
		"there before":                {with(func(t *bmc.Task) { t.URI, t.Start = "/t/1", time.Time{} }), i, false},
		"long before":                 {with(func(t *bmc.Task) { t.Start = begun.Add(-time.Hour) }), i, false},
		"by a clock that is slow":     {with(func(t *bmc.Task) { t.Start = begun.Add(-time.Hour) }), intent{at: begun, skew: -time.Hour}, true},
		"by a clock that is a bit so": {with(func(t *bmc.Task) { t.Start = begun.Add(-5 * time.Minute) }), i, true},
		"by a clock that is not set":  {with(func(t *bmc.Task) { t.Start = time.Unix(60, 0) }), i, true},
		"a URI that is used again":    {update, intent{at: begun, known: []string{"/t/2@2026-03-01T10:00:00Z"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := tc.i.find([]bmc.Task{{URI: "/t/0", Name: "x"}, tc.task}); ok != tc.ours || ok && got.URI != tc.task.URI {
				t.Errorf("ours: %v", ok)
			}
		})
	}
}

// TestImages: what is told of a URI that nothing can be installed from.
func TestImages(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	for uri, want := range map[string]image{
		"https://h/a.bin?x=1#sha256=" + digest:          {uri: "https://h/a.bin?x=1", digest: digest},
		"https://h/a#SHA256=" + strings.ToUpper(digest): {uri: "https://h/a", digest: digest},
		"nfs://h/share/a#sha256=" + digest:              {},
		"http://h/a.bin":                                {uri: "http://h/a.bin"},
		"https://h/a.bin?x=1":                           {uri: "https://h/a.bin?x=1"},
		"nfs://h/share/a":                               {uri: "nfs://h/share/a"},
		"https://h/a#sha256=12":                         {},
		"https://h/a#md5=12":                            {},
		"a.bin":                                         {},
		"":                                              {},
		"http://h/a b":                                  {},
		"http://u:p@h/a":                                {},
		"http://h/" + strings.Repeat("a", maxURI):       {},
	} {
		got, err := imageOf(&hop{source: metalv1.ImageSpec{URI: uri}})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(image{})); diff != "" || (err == nil) != (want != image{}) {
			t.Errorf("%.60s: %v (-want +got)\n%s", uri, err, diff)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
