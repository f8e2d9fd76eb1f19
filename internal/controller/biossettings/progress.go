package biossettings

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// annotationProgress holds how far the settings have come, as JSON.
const annotationProgress = "farrier.dev/bios-progress"

// step is what is being done.
type step string

const (
	stepBegin  step = "Begin"  // what differs is found
	stepWrite  step = "Write"  // the settings go to the BMC
	stepOff    step = "Off"    // the machine is switched off, for firmware takes them over at a start
	stepOn     step = "On"     // and on
	stepVerify step = "Verify" // until the BMC shows them
	stepFinish step = "Finish" // what was switched on is switched off; the maintenance ends
	stepDone   step = "Done"   // nothing is under way; Since is when the settings were applied
	stepFailed step = "Failed" // nothing is under way until a person, or another spec, says so
)

// progress is what is remembered of an object besides its spec.
type progress struct {
	// Asked says which settings it is about, as askedFor does.
	Asked string `json:"asked"`
	// Item is the part of the flow that Step is about.
	Item  string    `json:"item,omitempty"`
	Step  step      `json:"step"`
	Since time.Time `json:"since"`
	// Powered says that the machine was switched for the settings, so that what runs now is nobody's.
	Powered bool `json:"powered,omitempty"`
	// Wrote names the settings that were sent to the BMC since they were last all as asked for: what waits there of these is ours.
	Wrote []string `json:"wrote,omitempty"`
	// Task is what the BMC made of the change, where it made one.
	Task string `json:"task,omitempty"`
	// Failures counts the attempts that failed, Reason and Message say why the last one did.
	Failures int    `json:"failures,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	// NotBefore is when the next attempt may begin.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	// GaveUp says that there is no further attempt.
	GaveUp bool `json:"gaveUp,omitempty"`
}

// progressOf reads the annotation. What cannot be read, or is about an earlier spec, is nothing that could be gone
// on with; that the machine was switched stays true.
func progressOf(obj *metalv1.BIOSSettings) *progress {
	var p progress
	if json.Unmarshal([]byte(obj.Annotations[annotationProgress]), &p) != nil || p.Step == "" {
		return nil
	}
	if p.Asked == askedFor(obj) || !p.active() {
		return &p
	}
	return &progress{Asked: askedFor(obj), Step: stepBegin, Since: p.Since, Powered: p.Powered, Wrote: p.Wrote}
}

// Stage is how far an object has come: each step of each part of its flow is another.
func Stage(obj client.Object) string {
	settings, ok := obj.(*metalv1.BIOSSettings)
	if !ok {
		return ""
	}
	p := progressOf(settings)
	if p == nil {
		return ""
	}
	return string(p.Step) + " " + p.Item
}

// askedFor tells specs apart by what they ask of the BIOS: a maintenance that is named or not changes the
// generation, and not that.
func askedFor(obj *metalv1.BIOSSettings) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %v", obj.Spec.Version, obj.Spec.ServerRef)
	for _, item := range flowOf(obj) {
		fmt.Fprintf(h, " %q", item.Name)
		for _, name := range slices.Sorted(maps.Keys(item.Settings)) {
			fmt.Fprintf(h, " %q=%q", name, item.Settings[name])
		}
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// active reports whether something is under way at the BMC.
func (p *progress) active() bool { return p != nil && p.Step != stepDone && p.Step != stepFailed }

// abandonable reports whether the object can go at once: nothing is under way, or nothing but reading.
func (p *progress) abandonable() bool { return !p.active() || p.Step == stepBegin && !p.Powered }

// wrote is what was sent to the BMC and may wait there still.
func (p *progress) wrote() []string {
	if p == nil {
		return nil
	}
	return p.Wrote
}

// writing is the progress at the beginning of a step that sends settings.
func (p *progress) writing(settings map[string]string) []string {
	all := slices.AppendSeq(slices.Clone(p.Wrote), maps.Keys(settings))
	slices.Sort(all)
	return slices.Compact(all)
}

// next is the progress at the beginning of another step.
func (p *progress) next(s step, now time.Time) *progress {
	n := *p
	n.Step, n.Since = s, now.UTC()
	return &n
}

func (p *progress) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no field can fail
	}
	return string(text)
}

// UnderWay reports whether the settings are being applied.
func UnderWay(obj *metalv1.BIOSSettings) bool { return progressOf(obj).active() }
