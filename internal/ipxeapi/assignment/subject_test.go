package assignment

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReadQuery(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		fromIPXE  bool
		want      map[string]string
		key       string // of the error
	}{
		{name: "empty", want: map[string]string{}},
		{name: "canonical", raw: "UUID=6F0C2B1E-6D6A-4B5C-9A55-0A3C7D1E0001&mac=52-54-00-12-34-56&serialNumber=S1&arch=amd64&asset=",
			want: map[string]string{"uuid": "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001", "mac": "52:54:00:12:34:56", "serial": "S1", "buildarch": "x86_64"}},
		{name: "form", raw: "product=A%2BB+%26+C&&serial=x", want: map[string]string{"product": "A+B & C", "serial": "x"}},
		{name: "old iPXE", raw: "product=A+B%20&%20C&D&serial=x&", fromIPXE: true, want: map[string]string{"product": "A+B & C&D", "serial": "x"}},
		{name: "old iPXE, at the end", raw: "serial=x&product=A&B&C", fromIPXE: true, want: map[string]string{"product": "A&B&C", "serial": "x"}},
		{name: "old iPXE, an equals sign", raw: "product=A=1&B=2&C&serial=x", fromIPXE: true, want: map[string]string{"product": "A=1", "b": "2&C", "serial": "x"}},
		{name: "new iPXE", raw: "product=A%2BB%20%26%20C", fromIPXE: true, want: map[string]string{"product": "A+B & C"}},
		{name: "the same twice", raw: "mac=525400123456&mac=52:54:00:12:34:56", want: map[string]string{"mac": "52:54:00:12:34:56"}},
		{name: "different", raw: "serial=a&serialnumber=b", key: "serial"},
		{name: "value not escaped", raw: "serial=%zz", key: "serial"},
		{name: "key not escaped", raw: "%z=1", key: "…"},
		{name: "newline", raw: "product=a%0Ab", key: "product"},
		{name: "too many", raw: strings.Repeat("a=b&", MaxLabels+1), key: "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.fromIPXE {
				tc.raw = RepairQuery(tc.raw)
			}
			got, err := ReadQuery(tc.raw)
			var refused *LabelError
			switch {
			case errors.As(err, &refused):
				if refused.Key != tc.key {
					t.Errorf("refused %q, want %q: %v", refused.Key, tc.key, err)
				}
			case tc.key != "":
				t.Errorf("accepted, want %q refused", tc.key)
			default:
				if diff := cmp.Diff(tc.want, got.Labels()); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Whatever url.ParseQuery reads is read alike.
func TestReadQueryAgrees(t *testing.T) {
	text := rapid.StringMatching(`[a-cA-C&=+ %./é]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		values := url.Values{}
		for range rapid.IntRange(0, 6).Draw(t, "labels") {
			values.Add(text.Draw(t, "key"), text.Draw(t, "value"))
		}
		want, errWant := NewSubject(values)
		got, err := ReadQuery(values.Encode())
		if (err == nil) != (errWant == nil) {
			t.Fatalf("%v, want %v", err, errWant)
		}
		if err == nil && cmp.Diff(want.Labels(), got.Labels()) != "" {
			t.Fatalf("labels (-want +got):\n%s", cmp.Diff(want.Labels(), got.Labels()))
		}
	})
}

func FuzzReadQuery(f *testing.F) {
	f.Add("uuid=6F0C2B1E&product=A&B+%20", true)
	f.Fuzz(func(t *testing.T, raw string, fromIPXE bool) {
		if fromIPXE {
			raw = RepairQuery(raw)
		}
		s, err := ReadQuery(raw)
		if err != nil {
			return
		}
		for key, value := range s.Labels() {
			if key == "" || value == "" || makeupOf(key).refusal(key) != "" || makeupOf(value).refusal(value) != "" {
				t.Errorf("%q: %q", key, value)
			}
		}
	})
}

// What the makeup of a text has nobody look at again is as it would have been left.
func TestMakeup(t *testing.T) {
	text := rapid.StringMatching(`[a-z0-9._-]{0,4}[\x00-\x{ff}]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		m := makeupOf(s)
		if got, err := url.QueryUnescape(s); m&escaping == 0 && (err != nil || got != s) {
			t.Errorf("%q is unescaped to %q: %v", s, got, err)
		}
		if m == 0 && CanonicalKey(s) != canonicalName(s) {
			t.Errorf("%q becomes %q, not %q", s, CanonicalKey(s), canonicalName(s))
		}
		if plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }); (m&foreign == 0) != plain {
			t.Errorf("%q: printable ASCII %t, makeup %b", s, plain, m)
		}
	})
}
