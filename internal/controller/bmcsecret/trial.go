package bmcsecret

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/bmc"
)

const (
	// Limit is how many attempts a BMC gets in a Window: the strictest BMCs lock an account at the third.
	Limit = 2
	// Window is the time that Limit is about.
	Window = time.Hour
)

// Outcome is what came of the last attempt.
type Outcome string

const (
	Pending  Outcome = "" // begun or not; if nobody waits for the answer any more, it is unknown
	Refused  Outcome = "Refused"
	Accepted Outcome = "Accepted"
)

// Trial is how far the default credentials of a BMC have been tried.
type Trial struct {
	// Position is that of the credentials in the BMCSecret among those of the make.
	Position int `json:"position"`
	// Attempts are those within the last Window, oldest first.
	Attempts []time.Time `json:"attempts,omitempty"`
	Outcome  Outcome     `json:"outcome,omitempty"`
	// Refused are the positions that the BMC has refused.
	Refused []int `json:"refused,omitempty"`
}

// Parse reads a Trial from its annotation.
func Parse(text string) (Trial, error) {
	var t Trial
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("default credentials: %w", err)
	}
	return t, nil
}

// First is the trial with which a BMCSecret is made: its first attempt is written down.
func First(now time.Time) Trial {
	return Trial{Attempts: []time.Time{now.UTC().Truncate(time.Second)}}
}

// String is the form of the annotation.
func (t Trial) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // a year beyond 9999
	}
	return string(text)
}

// Accept is the trial after the BMC has taken the credentials that it is at.
func (t Trial) Accept() Trial {
	t.Outcome, t.Refused, t.Attempts = Accepted, nil, nil
	return t
}

// Mark is what a BMC says that takes the credentials at the trial's position, of the BMCSecret with this UID. One that is made
// anew under the same name is another.
func (t Trial) Mark(secret types.UID) string {
	return fmt.Sprintf("%s/%d", secret, t.Position)
}

// View is what a decision looks at.
type View struct {
	Now      time.Time
	Defaults []bmc.Credentials
	// Current are the credentials in the BMCSecret, Fixed says that they must not be changed.
	Current bmc.Credentials
	Fixed   bool
	// Begun says that the newest attempt is written down and has not been made: see the type Begun.
	Begun bool
	// Asked says that the BMC is being asked with Current; Answered and Refused what it said since.
	Asked, Answered, Refused bool
}

// Action is what to do with a BMC.
type Action int

const (
	// Use asks the BMC with the credentials that the BMCSecret has.
	Use Action = iota
	// Begin asks it with those at the trial's position, after the trial and they have been written.
	Begin
	// Wait leaves the BMC alone.
	Wait
	// Forget ends the trial: the credentials are somebody's own.
	Forget
)

// Decide returns what to do, the trial as it shall be remembered, and how long a Wait is.
func (t Trial) Decide(v View) (Action, Trial, time.Time) {
	if v.Fixed || t.Position < 0 || t.Position >= len(v.Defaults) || v.Current != v.Defaults[t.Position] {
		return Forget, t, time.Time{}
	}
	if t.Outcome == Accepted || v.Begun && t.Outcome == Pending && !v.Asked {
		return Use, t, time.Time{}
	}
	if v.Asked {
		switch {
		case v.Answered:
			return Use, t.Accept(), time.Time{}
		case !v.Refused:
			return Use, t, time.Time{}
		}
		t.Outcome = Refused
		if !slices.Contains(t.Refused, t.Position) {
			t.Refused = append(slices.Clone(t.Refused), t.Position)
		}
	}
	recent := slices.DeleteFunc(slices.Clone(t.Attempts), func(at time.Time) bool { return !v.Now.Before(at.Add(Window)) })
	if len(recent) >= Limit {
		return Wait, t, recent[len(recent)-Limit].Add(Window)
	}
	t.Attempts = append(recent, v.Now.UTC().Truncate(time.Second))
	if t.Outcome == Refused {
		t.Position = (t.Position + 1) % len(v.Defaults) // after the last the first: it may only have been locked
	}
	t.Outcome = Pending
	return Begin, t, time.Time{}
}

// Tried names the users whose credentials were refused, for people.
func (t Trial) Tried(defaults []bmc.Credentials) string {
	var names []string
	for _, i := range t.Refused {
		if i >= 0 && i < len(defaults) {
			names = append(names, fmt.Sprintf("%s (%d of %d)", defaults[i].Username, i+1, len(defaults)))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
