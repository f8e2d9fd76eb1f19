package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseReference(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Reference
	}{
		{"ghcr.io/org/os:v1", Reference{"ghcr.io", "org/os", "v1", ""}},
		{"ghcr.io/org/os", Reference{"ghcr.io", "org/os", "latest", ""}},
		{"ghcr.io/org/os@" + testDigest, Reference{"ghcr.io", "org/os", "", testDigest}},
		{"ghcr.io/org/os:v1@" + testDigest, Reference{"ghcr.io", "org/os", "v1", testDigest}},
		{"GHCR.IO/org/os:V1", Reference{"ghcr.io", "org/os", "V1", ""}},
		{"127.0.0.1:5000/os:v1", Reference{"127.0.0.1:5000", "os", "v1", ""}},
		{"127.0.0.1:5000/os", Reference{"127.0.0.1:5000", "os", "latest", ""}},
		{"localhost/os:v1", Reference{"localhost", "os", "v1", ""}},
		{"[::1]:5000/os:v1", Reference{"[::1]:5000", "os", "v1", ""}},
		{"[2001:DB8:0::1]/os:v1", Reference{"[2001:db8::1]", "os", "v1", ""}},
		{"registry.example:443/a/b__c/d-e.f:1.2-3_4", Reference{"registry.example:443", "a/b__c/d-e.f", "1.2-3_4", ""}},
		{"debian", Reference{"docker.io", "library/debian", "latest", ""}},
		{"debian:13", Reference{"docker.io", "library/debian", "13", ""}},
		{"org/os:v1", Reference{"docker.io", "org/os", "v1", ""}},
		{"docker.io/debian:13", Reference{"docker.io", "library/debian", "13", ""}},
		{"index.docker.io/library/debian:13", Reference{"docker.io", "library/debian", "13", ""}},
		{"registry-1.docker.io/org/os@" + testDigest, Reference{"docker.io", "org/os", "", testDigest}},
	} {
		got, err := ParseReference(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if again, err := ParseReference(got.String()); err != nil || again != got {
			t.Errorf("%q prints as %q, which parses to %+v, %v", tt.text, got, again, err)
		}
	}
}

func TestParseReferenceErrors(t *testing.T) {
	for _, tt := range []struct{ text, contains string }{
		{"", "empty"},
		{"ghcr.io/", "no repository"},
		{"https://ghcr.io/org/os:v1", "scheme"},
		{"oci://ghcr.io/org/os:v1", "scheme"},
		{"ghcr.io/Org/os:v1", `"Org/os" must be lower case`},
		{"ghcr.io/org//os:v1", `"org//os" is not valid`},
		{"ghcr.io/../etc/passwd", "is not valid"},
		{"ghcr.io/org/os:", `tag "" is not valid`},
		{"ghcr.io/org/os:-v1", `tag "-v1" is not valid`},
		{"ghcr.io/org/os:" + strings.Repeat("v", 129), "tag"},
		{"ghcr.io/org/os@sha256:12", `digest "sha256:12"`},
		{"ghcr.io/org/os@md5:0123", "digest"},
		{"ghcr.io/org/os@" + strings.ToUpper(testDigest), "digest"},
		{"ghcr.io/org/os@" + testDigest + "@" + testDigest, "digest"},
		{"ghcr.io:0/os:v1", `port "0"`},
		{"ghcr.io:/os:v1", `port ""`},
		{"ghcr.io:65536/os:v1", `port "65536"`},
		{"ghcr.io:+80/os:v1", `port "+80"`},
		{"ghcr.io:080/os:v1", `port "080"`},
		{"-ghcr.io/os:v1", `"-ghcr.io" is not a host name`},
		{"user:pw@ghcr.io/os:v1", "digest"},
		{"[::1/os:v1", "IPv6"},
		{"[::ffff]x:1/os:v1", "IPv6"},
		{"[fe80::1%eth0]:5000/os:v1", "IPv6"},
		{"ghcr.io/org/os:v1\n", "tag"},
		{"ghcr.io/org/o s:v1", "not valid"},
		{"ghcr.io/" + strings.Repeat("a", 256), "longer than 255"},
		{strings.Repeat("a", 2000), "longer than 1024"},
	} {
		got, err := ParseReference(tt.text)
		if !errors.Is(err, ErrInvalidReference) {
			t.Errorf("%q: %+v, error %v", tt.text, got, err)
			continue
		}
		if !strings.Contains(err.Error(), tt.contains) {
			t.Errorf("%q: error %q does not contain %q", tt.text, err, tt.contains)
		}
		if !strings.Contains(err.Error(), tt.text) && len(tt.text) < 100 && !strings.Contains(tt.text, "\n") {
			t.Errorf("error %q does not name the reference %q", err, tt.text)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{"ghcr.io/org/os:v1", "[::1]:5000/os@" + testDigest, "debian", "localhost/a:b@" + testDigest, "a.b:1/c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseReference(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidReference) {
				t.Fatalf("error of no class: %v", err)
			}
			return
		}
		again, err := ParseReference(ref.String())
		if err != nil || again != ref {
			t.Errorf("%q prints as %q, which parses to %+v, %v", text, ref, again, err)
		}
		for _, part := range []string{ref.Registry, ref.Repository, ref.Tag, ref.Digest} {
			if strings.Contains(part, "..") && part != ref.Tag || strings.ContainsAny(part, " \n\r\t%?#@\\") {
				t.Errorf("%q has the part %q", text, part)
			}
		}
		if ref.Version() == "" || ref.Repository == "" || ref.Registry == "" {
			t.Errorf("%q lacks a part: %+v", text, ref)
		}
	})
}
