package profile

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestProfilesAreObserved: an observer is told what is served and what was before, of every change and of nothing else.
func TestProfilesAreObserved(t *testing.T) {
	v, _ := stand(t, nil)
	one := compile(t, "#!ipxe\none", nil)
	two, newer := compile(t, "#!ipxe\ntwo", nil), compile(t, "#!ipxe\ntwo", nil)
	newer.Version = 7
	name := map[*Profile]string{nil: "none", one: "one", two: "two", newer: "two, newer"}
	v.DeleteProfile("ns", "p")
	var told []string
	v.ObserveProfiles(func(_, _ string, now, before *Profile) { told = append(told, name[now]+" after "+name[before]) })
	v.DeleteProfile("ns", "p")
	v.BreakProfile("ns", "p")
	for _, p := range []*Profile{one, one, two, newer} {
		v.PutProfile(p)
	}
	v.BreakProfile("ns", "p")
	v.DeleteProfile("ns", "p")
	want := []string{"one after none", "two after one", "two, newer after one", "none after two, newer", "none after none"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestANewerVersionIsTheSameProfile: what was refused of it stays refused.
func TestANewerVersionIsTheSameProfile(t *testing.T) {
	v, _ := stand(t, nil)
	old, _ := v.Profile("ns", "p")
	v.note(old, scriptError{errTooLong})
	newer, err := Compile(old.Source(), key)
	if err != nil {
		t.Fatal(err)
	}
	newer.Version = old.Version + 1
	v.PutProfile(newer)
	if got := v.Refused("ns", "p"); got != errTooLong.Error() {
		t.Errorf("refused %q", got)
	}
}

// TestCompiledAgainWithoutTheKey: whoever is told IDs and revision serves the same script, the same URLs, the same configs.
func TestCompiledAgainWithoutTheKey(t *testing.T) {
	signer := &Signer{Key: []byte("k"), TTL: 1 << 40}
	v, _ := stand(t, signer)
	p, _ := v.Profile("ns", "p")
	again, err := CompileAs(p.Source(), p.Revision, p.IDs())
	if err != nil {
		t.Fatal(err)
	}
	other, _ := stand(t, nil)
	if _, err := fetch(other, configURL(t, v)); err != nil {
		t.Errorf("URLs are not signed, and %v", err)
	}
	other.SetSigner(signer)
	other.DeleteProfile("ns", "p")
	other.SetProfile("ns", "p", again)
	u := configURL(t, v)
	if got := configURL(t, other); got.String() != u.String() {
		t.Errorf("%s, want %s", got, u)
	}
	if c, err := fetch(other, u); err != nil || string(c.Bytes) != `{"ignition":{}}` {
		t.Errorf("%q, %v", c.Bytes, err)
	}
	// Its URLs are good as long as the revision before is.
	other.SetProfileBefore("ns", "p", again)
	other.SetProfile("ns", "p", nil)
	if _, err := fetch(other, u); err != nil {
		t.Error(err)
	}
	other.SetProfileBefore("ns", "p", nil)
	if _, err := fetch(other, u); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	for name, ids := range map[string]map[string]string{"none": nil, "no UUID": {"config0": "../x"}, "not canonical": {"config0": fmt.Sprintf("{%s}", p.IDs()["config0"])}} {
		if _, err := CompileAs(p.Source(), p.Revision, ids); err == nil {
			t.Errorf("IDs: %s: no error", name)
		}
	}
}
