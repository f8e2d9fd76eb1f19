package bmcsecret

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
)

var (
	now      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	defaults = []bmc.Credentials{{Username: "a", Password: "1"}, {Username: "b", Password: "2"}, {Username: "c", Password: "3"}}
)

func ago(minutes ...int) []time.Time {
	var all []time.Time
	for _, m := range minutes {
		all = append(all, now.Add(-time.Duration(m)*time.Minute))
	}
	return all
}

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		trial  Trial
		view   View
		action Action
		want   Trial
		until  time.Time
	}{
		"the first is begun":                            {Trial{}, View{}, Begin, Trial{Attempts: ago(0)}, time.Time{}},
		"one that was begun with the BMCSecret is made": {First(now), View{Begun: true}, Use, Trial{Attempts: ago(0)}, time.Time{}},
		"one that was begun elsewhere counts":           {First(now), View{}, Begin, Trial{Attempts: ago(0, 0)}, time.Time{}},
		"one that was begun and refused leads to the next": {
			First(now), View{Begun: true, Asked: true, Refused: true}, Begin, Trial{Position: 1, Attempts: ago(0, 0), Refused: []int{0}}, time.Time{},
		},
		"an answer is awaited": {Trial{Attempts: ago(1)}, View{Asked: true}, Use, Trial{Attempts: ago(1)}, time.Time{}},
		"an answer ends the trial": {
			Trial{Position: 1, Attempts: ago(2, 1), Refused: []int{0}}, View{Asked: true, Answered: true}, Use, Trial{Position: 1, Outcome: Accepted}, time.Time{},
		},
		"what was accepted stays, though refused later": {Trial{Outcome: Accepted}, View{Asked: true, Refused: true}, Use, Trial{Outcome: Accepted}, time.Time{}},
		"a refusal leads to the next": {
			Trial{Attempts: ago(1)}, View{Asked: true, Refused: true}, Begin, Trial{Position: 1, Attempts: ago(1, 0), Refused: []int{0}}, time.Time{},
		},
		"the third has to wait": {
			Trial{Position: 1, Attempts: ago(20, 10), Refused: []int{0}}, View{Asked: true, Refused: true},
			Wait, Trial{Position: 1, Attempts: ago(20, 10), Outcome: Refused, Refused: []int{0, 1}}, now.Add(40 * time.Minute),
		},
		"and is begun when the hour is over": {
			Trial{Position: 1, Attempts: ago(60, 50), Outcome: Refused, Refused: []int{0, 1}}, View{},
			Begin, Trial{Position: 2, Attempts: ago(50, 0), Refused: []int{0, 1}}, time.Time{},
		},
		"after the last comes the first": {
			Trial{Position: 2, Outcome: Refused, Refused: []int{0, 1, 2}}, View{}, Begin, Trial{Attempts: ago(0), Refused: []int{0, 1, 2}}, time.Time{},
		},
		"an attempt of unknown end is made again, and counts": {Trial{Attempts: ago(5)}, View{}, Begin, Trial{Attempts: ago(5, 0)}, time.Time{}},
		"starting again and again makes no more attempts":     {Trial{Attempts: ago(5, 4)}, View{}, Wait, Trial{Attempts: ago(5, 4)}, now.Add(55 * time.Minute)},
		"changed credentials are nobody's defaults": {
			Trial{Attempts: ago(5)}, View{Current: bmc.Credentials{Username: "a", Password: "own"}, Asked: true, Refused: true}, Forget, Trial{Attempts: ago(5)}, time.Time{},
		},
		"nor are those that must not change":        {Trial{}, View{Fixed: true}, Forget, Trial{}, time.Time{}},
		"nor those of a list that is shorter today": {Trial{Position: 7}, View{Current: defaults[0]}, Forget, Trial{Position: 7}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.view.Now, tc.view.Defaults = now, defaults
			if tc.view.Current == (bmc.Credentials{}) {
				tc.view.Current = defaults[tc.trial.Position]
			}
			action, got, until := tc.trial.Decide(tc.view)
			if action != tc.action || !until.Equal(tc.until) {
				t.Errorf("action %v until %v, want %v until %v", action, until, tc.action, tc.until)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("trial (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNeverMoreThanTheLimit plays a BMC that refuses everything, before a process that restarts at will.
func TestNeverMoreThanTheLimit(t *testing.T) {
	trial, current := Trial{}, defaults[0]
	var attempts []time.Time
	asked := false
	for minute := range 24 * 60 {
		at := now.Add(time.Duration(minute) * time.Minute)
		asked = asked && minute%7 != 0 // a restart
		action, next, _ := trial.Decide(View{Now: at, Defaults: defaults, Current: current, Asked: asked, Refused: asked})
		trial = next
		if action == Begin {
			attempts = append(attempts, at)
			current = defaults[next.Position]
		}
		asked = action == Begin || action == Use
	}
	for i := Limit; i < len(attempts); i++ {
		if attempts[i].Sub(attempts[i-Limit]) < Window {
			t.Errorf("three attempts between %s and %s", attempts[i-Limit], attempts[i])
		}
	}
	if len(attempts) < 40 {
		t.Errorf("in a day only %d attempts", len(attempts))
	}
}

func TestAnnotation(t *testing.T) {
	trial := Trial{Position: 1, Attempts: ago(3), Outcome: Refused, Refused: []int{0, 1}}
	got, err := Parse(trial.String())
	if diff := cmp.Diff(trial, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := Parse("{"); err == nil {
		t.Error("a broken annotation is read")
	}
	if got, want := trial.Tried(defaults), "a (1 of 3), b (2 of 3)"; got != want {
		t.Errorf("tried %q, want %q", got, want)
	}
}
