package bootview

import (
	"testing"
)

// FuzzScriptOf: what is accepted renders as long as it says, and comes apart into what it was made of.
func FuzzScriptOf(f *testing.F) {
	for _, s := range []Script{chainloadScript, exitScript, newTemplate(magic+"a "+ownMark+" b "+baseMark+"\n", "?token=t")} {
		text, own, exact := s.Parts()
		f.Add([]byte(text), own, exact)
	}
	f.Add([]byte(magic+ownMark+ownMark), "?token=t", false)
	f.Add([]byte(magic), "\nshell", false)
	f.Add([]byte("shell"), "", true)
	f.Fuzz(func(t *testing.T, text []byte, own string, exact bool) {
		s, err := ScriptOf(text, own, exact)
		if err != nil {
			return
		}
		if s.IsZero() {
			t.Fatal("it is accepted, and no script")
		}
		if got := len(s.Render("http://base")); got != s.Len("http://base") {
			t.Errorf("%d bytes, said to be %d", got, s.Len("http://base"))
		}
		again, err := ScriptOf(text, own, exact)
		if err != nil || !again.Equal(s) {
			t.Errorf("made again: %v, %v", again, err)
		}
		if gotText, gotOwn, gotExact := s.Parts(); gotText != string(text) || gotOwn != own || gotExact != exact {
			t.Errorf("parts %q, %q, %v; made of %q, %q, %v", gotText, gotOwn, gotExact, text, own, exact)
		}
	})
}

// TestScriptsOfThisPackageComeApartAndTogether: all that is rendered can be sent to another boot server.
func TestScriptsOfThisPackageComeApartAndTogether(t *testing.T) {
	byDefault, err := DefaultScript(DefaultScriptParams{
		BootURL: "http://10.0.0.1", KernelURL: "http://10.0.0.1/k", InitrdURL: "http://b/i", SquashfsURL: "http://c/s", KernelArgs: "a=b  c é",
		Attempt: Attempt{ID: "1", Token: "t-._~", Open: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Script{
		"default": byDefault, "without its secret": byDefault.Public(), "exit": ExitScript(), "chainload": ChainloadScript(), "custom": CustomScript([]byte("\x00\x01\xff\r\n")),
	} {
		text, own, exact := s.Parts()
		if got, err := ScriptOf([]byte(text), own, exact); err != nil || !got.Equal(s) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, own, exact := (Script{}).Parts(); text != "" || own != "" || exact {
		t.Error("no script has parts")
	}
}

// TestObservedInOrder: an observer is told of all changes and of nothing else.
func TestObservedInOrder(t *testing.T) {
	var told []string
	v := New()
	v.Observe(Observer[Entry]{Put: func(e Entry) { told = append(told, "put "+e.Name) }, Deleted: func(name string) { told = append(told, "deleted "+name) }})
	v.Delete("a")
	v.Put(Entry{Name: "a"})
	v.Put(Entry{Name: "a"})
	v.Delete("a")
	v.Delete("a")
	x := &Instances{}
	x.Observe(Observer[*Instance]{Put: func(i *Instance) { told = append(told, "put instance "+i.Name) }, Deleted: func(name string) { told = append(told, "deleted instance "+name) }})
	x.Delete("b")
	x.Put(Instance{Name: "b"})
	x.Delete("b")
	want := []string{"put a", "put a", "deleted a", "put instance b", "deleted instance b"}
	if len(told) != len(want) {
		t.Fatalf("told %q, want %q", told, want)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("told %q, want %q", told, want)
		}
	}
}
