package bmcsettings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// annotationProgress holds how far the settings have come, as JSON.
const annotationProgress = "farrier.dev/bmc-settings-progress"

// step is what is being done.
type step string

const (
	stepBegin   step = "Begin"   // what differs is found
	stepWrite   step = "Write"   // the settings go to the BMC
	stepRestart step = "Restart" // the BMC is restarted, for it takes over some of them then
	stepVerify  step = "Verify"  // until the BMC shows them
	stepDone    step = "Done"    // nothing is under way; Since is when the settings were applied
	stepFailed  step = "Failed"  // nothing is under way until a person, or another spec, says so
)

// progress is what is remembered of an object besides its spec. It has nothing of the values.
type progress struct {
	// Asked says which settings it is about, as askedFor does.
	Asked string    `json:"asked"`
	Step  step      `json:"step"`
	Since time.Time `json:"since"`
	// Restarted says that the BMC was told to restart in this attempt.
	Restarted bool `json:"restarted,omitempty"`
	// Hidden names the settings that were sent and that the BMC does not show, as it shows no passwords.
	Hidden []string `json:"hidden,omitempty"`
	// Task is what the BMC made of the change, where it made one.
	Task string `json:"task,omitempty"`
	// Failures counts the attempts that failed, Reason and Message say why the last one did.
	Failures int    `json:"failures,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	// NotBefore is when the next attempt may begin.
	NotBefore *time.Time `json:"notBefore,omitempty"`
}

// progressOf reads the annotation. What cannot be read is nothing that could be gone on with; what is about other settings begins anew.
func progressOf(obj *metalv1.BMCSettings, asked string) *progress {
	var p progress
	if json.Unmarshal([]byte(obj.Annotations[annotationProgress]), &p) != nil || p.Step == "" {
		return nil
	}
	if p.Asked == asked || asked == "" || !p.active() {
		return &p
	}
	return &progress{Asked: asked, Step: stepBegin, Since: p.Since}
}

// Stage is how far an object has come.
func Stage(obj client.Object) string {
	settings, ok := obj.(*metalv1.BMCSettings)
	if !ok {
		return ""
	}
	p := progressOf(settings, "")
	if p == nil {
		return ""
	}
	return string(p.Step)
}

// askedFor tells apart what an object asks for. read stands for what its variables were read from.
func askedFor(obj *metalv1.BMCSettings, read string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %v %s", obj.Spec.Version, obj.Spec.BMCRef, read)
	for _, name := range slices.Sorted(maps.Keys(obj.Spec.SettingsMap)) {
		fmt.Fprintf(h, " %q=%q", name, obj.Spec.SettingsMap[name])
	}
	variables, err := json.Marshal(obj.Spec.Variables)
	if err != nil {
		variables = nil // no field can fail
	}
	h.Write(variables)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// active reports whether something is under way at the BMC.
func (p *progress) active() bool { return p != nil && p.Step != stepDone && p.Step != stepFailed }

// abandonable reports whether the object can go at once: nothing is under way, or nothing but reading.
func (p *progress) abandonable() bool { return !p.active() || p.Step == stepBegin }

// hidden are the settings that count as so though the BMC does not show them.
func (p *progress) hidden(asked string) []string {
	if p == nil || p.Asked != asked {
		return nil
	}
	return p.Hidden
}

// next is the progress at the beginning of another step.
func (p *progress) next(s step, now time.Time) *progress {
	n := *p
	n.Step, n.Since = s, now.UTC()
	return &n
}

func (p *progress) String() string {
	words, err := json.Marshal(p)
	if err != nil {
		return "" // no field can fail
	}
	return string(words)
}

// UnderWay reports whether the settings are being applied.
func UnderWay(obj *metalv1.BMCSettings) bool { return progressOf(obj, "").active() }
