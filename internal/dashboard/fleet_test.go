package dashboard

import "testing"

// TestTheFleetIsShared by all who may see all of it, until something has changed. Who may not sees their own.
func TestTheFleetIsShared(t *testing.T) {
	s := newSite(t)
	sessionOf := func(person string) *session {
		made := &session{}
		made.user.Username = person
		return made
	}
	admin := s.fleetFor(sessionOf("admin"))
	first, fleet, err := admin(t.Context())
	if err != nil || first == nil || len(fleet.Servers) != 1 {
		t.Fatalf("%+v, %v", fleet, err)
	}
	s.hub.touch()
	s.clock.Step(s.notBefore / 2)
	if now, _, err := s.fleetFor(sessionOf("admin"))(t.Context()); now != first || err != nil {
		t.Errorf("a moment later somebody else does not see the same: %v", err)
	}
	s.clock.Step(s.notBefore)
	second, _, err := admin(t.Context())
	if second == first || err != nil {
		t.Errorf("what has changed is not seen: %v", err)
	}
	s.clock.Step(2 * s.notBefore)
	if now, _, err := admin(t.Context()); now != second || err != nil {
		t.Errorf("nothing has changed, and it was made again: %v", err)
	}
	s.clock.Step(s.anyway)
	if now, _, err := admin(t.Context()); now == second || err != nil {
		t.Errorf("what is overdue meanwhile is not seen: %v", err)
	}
	if now, _, err := s.fleetFor(sessionOf("reader"))(t.Context()); now != nil || err != nil {
		t.Errorf("who may not list claims sees them: %v", err)
	}
	s.api.set(func() { s.api.gone = true })
	if _, _, err := s.fleetFor(sessionOf("admin"))(t.Context()); !isSilence(err) {
		t.Errorf("nobody knows what they may, and they are told %v", err)
	}
}
