package ignition

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testKey() []byte {
	key := make([]byte, KeySize)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

// The token of a running attempt must survive an update of the manager, so
// its derivation is pinned.
func TestTokenIsPinned(t *testing.T) {
	got := Token(testKey(), "0b6cf5e2-6a44-4f5b-a0a8-5a6b3f6d7c11", "attempt-1")
	const want = "bhKpnFIsGhZeKy8vAb2Xi7e7uAeTEumwONw_pnmbHHA"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("token changed (-want +got):\n%s", diff)
	}
	if escaped := url.PathEscape(got); escaped != got {
		t.Errorf("token %q needs escaping in a URL", got)
	}
}

func TestTokenSeparatesAttempts(t *testing.T) {
	key := testKey()
	other := NewKey()
	seen := map[string]string{}
	for name, token := range map[string]string{
		"first":         Token(key, "ab", "c"),
		"shifted":       Token(key, "a", "bc"),
		"other server":  Token(key, "ac", "c"),
		"other attempt": Token(key, "ab", "d"),
		"no server":     Token(key, "", "abc"),
		"other key":     Token(other, "ab", "c"),
	} {
		if token == "" {
			t.Errorf("%s: empty token", name)
		}
		if twin, ok := seen[token]; ok {
			t.Errorf("%s and %s have the same token", name, twin)
		}
		seen[token] = name
	}
}

func TestTokenNeedsKeyAndAttempt(t *testing.T) {
	for name, token := range map[string]string{
		"no key":     Token(nil, "uid", "attempt"),
		"short key":  Token(testKey()[:KeySize-1], "uid", "attempt"),
		"no attempt": Token(testKey(), "uid", ""),
	} {
		if token != "" {
			t.Errorf("%s: token %q, want none", name, token)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"token", "token", true},
		{"token", "tokem", false},
		{"token", "toke", false},
		{"token", "", false},
		{"", "", false},
	} {
		if got := Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("Equal(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNewKey(t *testing.T) {
	a, b := NewKey(), NewKey()
	if len(a) != KeySize || len(b) != KeySize {
		t.Fatalf("keys of %d and %d bytes, want %d", len(a), len(b), KeySize)
	}
	if string(a) == string(b) {
		t.Error("two keys are the same")
	}
}

// What a machine was installed with is compared with what it would be installed with years later, so this derivation is
// pinned too.
func TestFingerprint(t *testing.T) {
	of := func(owner, format, data string) string { return Fingerprint(testKey(), owner, format, []byte(data)) }
	first := of("owner", "", "{}")
	if diff := cmp.Diff("lbq0KWuWplIph9kw2SmSjg", first); diff != "" {
		t.Errorf("fingerprint changed (-want +got):\n%s", diff)
	}
	if got := of("owner", "fcos", "{}"); got != of("owner", " fcos\n", "{}") {
		t.Error("spaces around the format do not count")
	}
	for name, other := range map[string]string{
		"another content": of("owner", "", "{ }"), "another format": of("owner", "fcos", "{}"), "another owner": of("other", "", "{}"),
		"shifted": of("owner{", "", "}"), "another key": Fingerprint(NewKey(), "owner", "", []byte("{}")),
	} {
		if other == first || other == "" {
			t.Errorf("%s: %q", name, other)
		}
	}
	if got := Fingerprint(nil, "owner", "", nil); got != "" {
		t.Errorf("without a key: %q", got)
	}
}
