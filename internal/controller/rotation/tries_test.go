package rotation

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// lockedAt is how many wrong passwords in a row lock an account at the strictest of BMCs.
const lockedAt = 3

// TestNoAccountLocksWhateverBecomesOfTheLoginsThatAreNoted: each of the processes that follow each other makes the login that it has noted, or
// ends before, and none notes what came of it. The process before them may have been refused with the old password.
func TestNoAccountLocksWhateverBecomesOfTheLoginsThatAreNoted(t *testing.T) {
	var follow func(tries Tries, right Password, wrong, lives int)
	follow = func(tries Tries, right Password, wrong, lives int) {
		if wrong >= lockedAt {
			t.Fatalf("the account is locked; right was %s, and noted are %q", right, tries)
		}
		p, until := tries.Choose(noon)
		if lives == 0 || !until.IsZero() {
			return
		}
		tries = ParseTries(tries.Note(p, noon).String())
		follow(tries, right, wrong, lives-1) // it ended before
		if p == right {
			wrong = -1
		}
		follow(tries, right, wrong+1, lives-1)
	}
	for _, right := range []Password{Old, Next} {
		refused := 0
		if right == Next {
			refused = 1
		}
		follow(Tries{}, right, refused, 12)
	}
}

func TestTheTwoPasswordsTakeTurns(t *testing.T) {
	var tries Tries
	for i, want := range []Password{Next, Old, Next} {
		got, until := tries.Choose(noon)
		if got != want || !until.IsZero() {
			t.Fatalf("login %d: %q, until %v; want %q", i, got, until, want)
		}
		tries = tries.Note(got, noon)
	}
	if _, until := tries.Choose(noon.Add(Rest - time.Second)); !until.Equal(noon.Add(Rest)) {
		t.Errorf("left alone until %v", until)
	}
	if got, until := tries.Choose(noon.Add(Rest)); got != Old || !until.IsZero() {
		t.Errorf("after the pause: %q, until %v", got, until)
	}
	if got := tries.Note(Next, noon.Add(Rest)).String(); got != "next@2026-03-01T13:00:00Z" {
		t.Errorf("noted %q", got)
	}
}

func TestARefusedPasswordIsNotTriedAgain(t *testing.T) {
	for p, other := range map[Password]Password{Old: Next, Next: Old} {
		tries := ParseTries(Tries{}.Note(Old, noon).Refuse(p, noon).String())
		for range 5 {
			got, until := tries.Choose(noon)
			if got != other || !until.IsZero() || tries.Refused() != p {
				t.Fatalf("%q after %q was refused, until %v", got, p, until)
			}
			tries = ParseTries(tries.Note(got, noon).String())
		}
		if tries.May(p, noon).IsZero() || !tries.May(p, noon.Add(Rest)).IsZero() || !tries.May(other, noon).IsZero() {
			t.Errorf("%q was refused, and may be tried until %v", p, tries.May(p, noon))
		}
	}
}

func TestWhatCannotBeReadCountsAsNothing(t *testing.T) {
	for _, text := range []string{"", "@", "x,y@2026-03-01T12:00:00Z", "older@"} {
		if got := ParseTries(text); len(got.made) != 0 || got.refused != "" {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	if got := ParseTries("next").String(); ParseTries(got).made[0] != Next { // as versions before have written it
		t.Errorf("read as %q", got)
	}
}
