package registry

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// maxPullSecret bounds a pull secret; a Secret holds no more.
const maxPullSecret = 1 << 20

// ErrPullSecret reports a pull secret that cannot be used.
var ErrPullSecret = errors.New("invalid pull secret")

// dockerConfig is the content of a Secret of type kubernetes.io/dockerconfigjson.
type dockerConfig struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		Username      string `json:"username"`
		Password      string `json:"password"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
}

// Login returns the client to use with a pull secret. Its tokens are kept
// apart from everybody else's, and its credentials go to one registry only. A
// secret without an entry for the registry leaves the caller anonymous.
func (u *Client) Login(ref Reference, pullSecret []byte) (*auth.Client, error) {
	if len(pullSecret) == 0 {
		return u.Anonymous, nil
	}
	credential, err := findCredential(ref.Registry, pullSecret)
	if err != nil {
		return nil, err
	}
	return &auth.Client{
		Client:     u.client,
		Credential: auth.StaticCredential(ref.Registry, credential),
		Cache:      auth.NewCache(),
	}, nil
}

// findCredential never repeats the secret in its errors.
func findCredential(registry string, pullSecret []byte) (auth.Credential, error) {
	if len(pullSecret) > maxPullSecret {
		return auth.EmptyCredential, fmt.Errorf("%w: it is larger than %d bytes", ErrPullSecret, maxPullSecret)
	}
	var config dockerConfig
	if err := json.Unmarshal(pullSecret, &config); err != nil {
		return auth.EmptyCredential, fmt.Errorf("%w: it is not a dockerconfigjson", ErrPullSecret)
	}
	// In order, so that a secret that names a registry twice always means the same.
	for _, name := range slices.Sorted(maps.Keys(config.Auths)) {
		if secretRegistry(name) != registry {
			continue
		}
		entry := config.Auths[name]
		credential := auth.Credential{Username: entry.Username, Password: entry.Password, RefreshToken: entry.IdentityToken}
		if entry.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(entry.Auth)
			username, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return auth.EmptyCredential, fmt.Errorf("%w: auth of %s is not base64 of user:password", ErrPullSecret, registry)
			}
			credential.Username, credential.Password = username, password
		}
		return credential, nil
	}
	return auth.EmptyCredential, nil
}

// secretRegistry returns the registry that a key of "auths" means. Docker writes
// its own as https://index.docker.io/v1/.
func secretRegistry(name string) string {
	if parsed, err := url.Parse(name); err == nil && parsed.Host != "" {
		name = parsed.Host
	}
	name, _, _ = strings.Cut(name, "/")
	registry, err := parseRegistry(name)
	if err != nil {
		return ""
	}
	return registry
}
