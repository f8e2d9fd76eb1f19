package registry

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"oras.land/oras-go/v2/registry/remote/auth"
)

func TestFindCredential(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("robot:s3cret:x"))
	for _, tt := range []struct {
		name, remote, secret string
		want                 auth.Credential
	}{
		{"auth", "ghcr.io", `{"auths":{"ghcr.io":{"auth":"` + encoded + `"}}}`, auth.Credential{Username: "robot", Password: "s3cret:x"}},
		{"user and password", "r.example:5000", `{"auths":{"R.example:5000":{"username":"u","password":"p"}}}`, auth.Credential{Username: "u", Password: "p"}},
		{"Docker Hub", "docker.io", `{"auths":{"https://index.docker.io/v1/":{"username":"u","password":"p"}}}`, auth.Credential{Username: "u", Password: "p"}},
		{"URL", "ghcr.io", `{"auths":{"https://ghcr.io":{"identitytoken":"t"}}}`, auth.Credential{RefreshToken: "t"}},
		{"another registry", "ghcr.io", `{"auths":{"ghcr.io.evil.example":{"username":"u","password":"p"}}}`, auth.EmptyCredential},
		{"another port", "ghcr.io", `{"auths":{"ghcr.io:5000":{"username":"u","password":"p"}}}`, auth.EmptyCredential},
		{"no registry", "ghcr.io", `{}`, auth.EmptyCredential},
	} {
		got, err := findCredential(tt.remote, []byte(tt.secret))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestFindCredentialErrors(t *testing.T) {
	for _, secret := range []string{"s3cret", `{"auths":"s3cret"}`, `{"auths":{"ghcr.io":{"auth":"s3cret"}}}`, strings.Repeat(" ", maxPullSecret+1)} {
		_, err := findCredential("ghcr.io", []byte(secret))
		if !errors.Is(err, ErrPullSecret) {
			t.Errorf("%.40q: error %v", secret, err)
		}
		if strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("error %q carries the secret", err)
		}
	}
}
