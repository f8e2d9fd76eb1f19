package dashboard

import (
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestTheOldestSessionMakesRoom: whoever signs in once more than a person may loses the session that was used least lately, while others go on being used.
func TestTheOldestSessionMakesRoom(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	all := newSessions(c)
	begin := func() *session {
		c.SetTime(c.Now().Add(time.Second))
		made, _ := all.begin(identity{user: authenticationv1.UserInfo{Username: "ada"}})
		return made
	}
	first, second := begin(), begin()
	var using sync.WaitGroup
	signedIn := make(chan struct{})
	using.Go(func() {
		for used := false; ; used = true {
			select {
			case <-signedIn:
				if used {
					return
				}
			default:
			}
			first.touch(c.Now().Add(time.Minute))
		}
	})
	for range maxSessionsEach - 2 {
		begin()
	}
	close(signedIn)
	using.Wait()
	begin()
	if !all.has(first) || all.has(second) {
		t.Errorf("kept: the one in use %t, the oldest %t", all.has(first), all.has(second))
	}
}
