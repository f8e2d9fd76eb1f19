package bootview

import (
	"testing"
	"time"
)

// TestASessionOpensOnceTheMachineWasSeenOn: for those who wait already, and for those who ask later.
func TestASessionOpensOnceTheMachineWasSeenOn(t *testing.T) {
	v := New()
	v.SetSynced(true)
	e := typical(1)
	v.Put(e)
	session := func() *Session {
		t.Helper()
		m, status := v.ByUUID(e.UUID)
		if status != Found || m.Session() == nil {
			t.Fatalf("the machine is %s: %+v", status, m)
		}
		return m.Session()
	}
	waits := session().Opened()
	select {
	case <-waits:
		t.Fatal("it is open before the machine was seen on")
	default:
	}
	e.Terms.Seen = time.Unix(1, 0)
	v.Put(e)
	e.Terms.Seen = time.Time{} // another entry, that knows less
	v.Put(e)
	for name, opened := range map[string]<-chan struct{}{"waited before": waits, "asked later": session().Opened()} {
		select {
		case <-opened:
		default:
			t.Errorf("who %s waits still", name)
		}
	}
	if seen := session().Terms().Seen; !seen.Equal(time.Unix(1, 0)) {
		t.Errorf("seen on at %s", seen)
	}
}

// TestAMachineKeepsOnceWhatItsEntriesShare: identifiers and carriers, whoever comes first, and nothing of them outlives an entry.
func TestAMachineKeepsOnceWhatItsEntriesShare(t *testing.T) {
	v := New()
	script := typical(1)
	file := script
	file.Name, file.Script, file.FileURL = "HTTPBootConfig/default/machine-1", Script{}, "http://boot.example/uki.efi"
	v.Put(file)
	v.Put(script)
	a, b := v.entries[script.Name], v.entries[file.Name]
	if &a.keys[0] != &b.keys[0] {
		t.Error("each has identifiers of its own")
	}
	if a.session != b.session {
		t.Error("each has a session of its own")
	}
	slot := func(k key) *carriers { return v.index.shard(k).slots[k.data].carriers }
	for _, k := range a.keys {
		if slot(k) != slot(a.keys[0]) || len(slot(k).of()) != 2 {
			t.Errorf("%v has carriers of its own: %v", k, slot(k).of())
		}
	}
	file.MACs = nil
	v.Put(file)
	if got := len(slot(a.keys[1]).of()); got != 1 {
		t.Errorf("a MAC address that one of them has left has %d carriers", got)
	}
	v.Delete(file.Name)
	if got := slot(a.keys[0]).of(); len(got) != 1 || got[0] != a {
		t.Errorf("the UUID has %v", got)
	}
}
