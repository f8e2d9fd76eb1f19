package firmwareversion

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// annotationProgress holds how far an update has come, as JSON.
const annotationProgress = "farrier.dev/firmware-progress"

// step is what is being done.
type step string

const (
	stepBegin   step = "Begin"   // the version is read, and whether the BMC is free
	stepOff     step = "Off"     // BIOS: the machine is switched off
	stepStart   step = "Start"   // the update is started; Since is when that was intended
	stepFollow  step = "Follow"  // its task is followed until the version is there
	stepRestart step = "Restart" // BIOS: the machine is off, to be started with what was written
	stepOn      step = "On"      // and is started into its firmware's setup
	stepReset   step = "Reset"   // the BMC is reset, because its task stands still
	stepFinish  step = "Finish"  // what was switched on is switched off; the maintenances end
	stepDone    step = "Done"    // nothing is under way; Since is when the version was there
	stepFailed  step = "Failed"  // nothing is under way until a person, or another spec, says so
)

// progress is what is remembered of an object besides its spec.
type progress struct {
	// Asked says which spec it is about, as askedFor does.
	Asked string    `json:"asked"`
	Step  step      `json:"step"`
	Since time.Time `json:"since"`
	// Began is when the attempt did, From the version that there was.
	Began time.Time `json:"began,omitzero"`
	From  string    `json:"from,omitempty"`
	// To is the version that the attempt brings, and Image names the FirmwareImage whose image it installs; without one it is that of the object.
	To    string `json:"to,omitempty"`
	Image string `json:"image,omitempty"`
	// Rollback is how the firmware goes back from the update, or is going.
	Rollback *rollback `json:"rollback,omitempty"`
	// Known are the tasks that the BMC had before the update was started, as known spells them. Sender is the process that started it.
	Known  []string `json:"known,omitempty"`
	Sender string   `json:"sender,omitempty"`
	// Task is what the BMC made of the update, where it made one, and where it was found last.
	Task string `json:"task,omitempty"`
	// Percent and Said are the last that the task said, Moved is when that changed.
	Percent int       `json:"percent,omitempty"`
	Said    string    `json:"said,omitempty"`
	Moved   time.Time `json:"moved,omitzero"`
	// Powered says that the machine was switched for the update, so that what runs now is nobody's. Restarted, that it was started with
	// what was written. Reset, that the BMC was.
	Powered   bool `json:"powered,omitempty"`
	Restarted bool `json:"restarted,omitempty"`
	Reset     bool `json:"reset,omitempty"`
	// Failures counts the attempts that failed, Reason and Message say why the last one did.
	Failures int    `json:"failures,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	// NotBefore is when the next attempt may begin.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	// GaveUp says that there is no further attempt.
	GaveUp bool `json:"gaveUp,omitempty"`
}

// progressOf reads the annotation. What cannot be read, or is about an earlier spec, is nothing that could be gone on with; that the machine
// was switched stays true.
func progressOf(i *item) *progress {
	var p progress
	if json.Unmarshal([]byte(i.GetAnnotations()[annotationProgress]), &p) != nil || p.Step == "" {
		return nil
	}
	asked := askedFor(i)
	if p.Asked == asked || !p.active() {
		return &p
	}
	return &progress{Asked: asked, Step: stepBegin, Since: p.Since, Powered: p.Powered}
}

// Stage is how far an object has come.
func Stage(obj client.Object) string {
	for _, kind := range Kinds() {
		if i := kind.of(obj); i != nil {
			if p := progressOf(i); p != nil {
				return fmt.Sprint(p.Step, " ", p.Percent, " ", p.Failures)
			}
		}
	}
	return ""
}

// UnderWay reports whether the update of an object is.
func UnderWay(obj client.Object) bool {
	for _, kind := range Kinds() {
		if i := kind.of(obj); i != nil {
			return progressOf(i).active()
		}
	}
	return false
}

// askedFor tells specs apart by what they ask of the firmware: a maintenance that is named or not changes the generation, and not that.
func askedFor(i *item) string {
	h := fnv.New64a()
	force := ""
	if i.spec.UpdatePolicy != nil {
		force = string(*i.spec.UpdatePolicy)
	}
	fmt.Fprintf(h, "%q %q %q %q %q", i.target, i.spec.Version, force, i.spec.Image.URI, i.spec.Image.TransferProtocol)
	if ref := i.spec.Image.SecretRef; ref != nil {
		fmt.Fprintf(h, " %q %q", ref.Namespace, ref.Name)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// active reports whether something is under way.
func (p *progress) active() bool { return p != nil && p.Step != stepDone && p.Step != stepFailed }

// abandonable reports whether the object can go at once: nothing is under way, or nothing but reading.
func (p *progress) abandonable() bool { return !p.active() || p.Step == stepBegin && !p.Powered }

// next is the progress at the beginning of another step.
func (p *progress) next(s step, now time.Time) *progress {
	n := *p
	n.Step, n.Since = s, now.UTC()
	return &n
}

// attempt is the progress at the beginning of an attempt: of the one before it remains what has failed, and that the machine was switched.
func (p *progress) attempt(now time.Time) *progress {
	return &progress{
		Asked: p.Asked, Step: stepBegin, Since: now.UTC(), Powered: p.Powered, Failures: p.Failures, Reason: p.Reason, Message: p.Message,
		Rollback: p.Rollback,
	}
}

func (p *progress) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no field can fail
	}
	return string(text)
}
