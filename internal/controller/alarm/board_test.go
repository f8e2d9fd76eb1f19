package alarm

import (
	"slices"
	"testing"
)

// TestBoard: the newest alarm of each Server is up until it is taken down, and one that has been dealt with takes no newer one with it.
func TestBoard(t *testing.T) {
	var woken []string
	b := &Board{Wake: func(server string) { woken = append(woken, server) }}
	is := func(when, server, message string) {
		t.Helper()
		if a, up := b.Of(server); a.Message != message || up != (message != "") {
			t.Errorf("%s, of %s: %+v, %t", when, server, a, up)
		}
	}
	is("at first", "a", "")
	b.Done("a", Alarm{})
	first, second := Alarm{Reason: ReasonStranger, Message: "first"}, Alarm{Reason: ReasonStranger, Message: "second"}
	b.Raise("a", first)
	b.Raise("", first)
	b.Put("b", first)
	is("raised", "a", "first")
	is("put", "b", "first")
	if got := b.Servers(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("servers with an alarm: %v", got)
	}
	b.Raise("a", second)
	b.Done("a", first)
	is("after the end of an earlier one", "a", "second")
	b.Done("a", second)
	is("after its end", "a", "")
	b.Clear("b")
	is("cleared", "b", "")
	if want := []string{"a", "a"}; !slices.Equal(woken, want) {
		t.Errorf("woken: %v, want %v", woken, want)
	}
}
