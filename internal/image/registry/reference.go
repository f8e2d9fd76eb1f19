package registry

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// dockerHub is the one name under which Docker Hub is known here. Its API
// answers at dockerHubHost.
const (
	dockerHub     = "docker.io"
	dockerHubHost = "registry-1.docker.io"
)

// dockerHubNames are all the names that people and tools give to Docker Hub.
var dockerHubNames = map[string]bool{
	dockerHub:                 true,
	dockerHubHost:             true,
	"index.docker.io":         true,
	"registry.hub.docker.io":  true,
	"registry.hub.docker.com": true,
}

// ErrInvalidReference reports a text that is no image reference.
var ErrInvalidReference = errors.New("invalid image reference")

// Lengths after which a reference is refused. OCI distribution-spec v1.1 §"Pulling
// manifests" recommends 255 for host and repository together; nothing real is longer.
const (
	maxReference  = 1024
	maxRepository = 255
)

// The grammar of OCI distribution-spec v1.1 §"Pulling manifests".
var (
	repositoryText = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagText        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	digestText     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	hostText       = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$`)
)

// ValidDigest reports whether a text is sha256: and 64 lower-case hexadecimal digits. It is then safe as part of a path, too.
func ValidDigest(text string) bool { return digestText.MatchString(text) }

// Reference names an image in a registry. It has a tag, a digest, or both; the
// digest decides when there is one.
type Reference struct {
	Registry   string // host, and port if the reference has one; lower case
	Repository string
	Tag        string
	Digest     string // sha256:<64 hex digits>
}

// ParseReference reads an image reference as people write it:
// [registry[:port]/]repository[:tag][@digest]. A name without a registry is
// Docker Hub's, and one without tag and digest has the tag "latest".
func ParseReference(text string) (Reference, error) {
	ref, err := parse(text)
	if err != nil {
		if len(text) > maxReference {
			text = text[:maxReference] + "…"
		}
		return Reference{}, fmt.Errorf("%w %q: %w", ErrInvalidReference, text, err)
	}
	return ref, nil
}

func parse(text string) (Reference, error) {
	switch {
	case text == "":
		return Reference{}, errors.New("it is empty")
	case len(text) > maxReference:
		return Reference{}, fmt.Errorf("it is longer than %d characters", maxReference)
	case strings.Contains(text, "://"):
		return Reference{}, errors.New("it has a URL scheme; write only registry/repository:tag")
	}
	var ref Reference
	name, digest, pinned := strings.Cut(text, "@")
	if pinned {
		if !digestText.MatchString(digest) {
			return Reference{}, fmt.Errorf("digest %q is not sha256: and 64 lower-case hexadecimal digits", digest)
		}
		ref.Digest = digest
	}
	// A colon after the last slash starts the tag; one before it, the port.
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		ref.Tag = name[colon+1:]
		name = name[:colon]
		if !tagText.MatchString(ref.Tag) {
			return Reference{}, fmt.Errorf("tag %q is not valid", ref.Tag)
		}
	}
	if ref.Tag == "" && ref.Digest == "" {
		ref.Tag = "latest"
	}
	var err error
	ref.Registry, ref.Repository, err = splitName(name)
	return ref, err
}

// splitName separates the registry from the repository. The first part of a
// name is a registry only if it cannot be anything else: it has a dot or a
// port, or is localhost.
func splitName(name string) (registry, repository string, err error) {
	registry, repository = dockerHub, name
	if first, rest, ok := strings.Cut(name, "/"); ok && (strings.ContainsAny(first, ".:") || strings.EqualFold(first, "localhost")) {
		if registry, err = parseRegistry(first); err != nil {
			return "", "", err
		}
		repository = rest
	}
	if registry == dockerHub && repository != "" && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	return registry, repository, checkRepository(repository)
}

func checkRepository(repository string) error {
	switch {
	case repository == "":
		return errors.New("it has no repository")
	case len(repository) > maxRepository:
		return fmt.Errorf("its repository is longer than %d characters", maxRepository)
	case repository != strings.ToLower(repository):
		return fmt.Errorf("repository %q must be lower case", repository)
	case !repositoryText.MatchString(repository):
		return fmt.Errorf("repository %q is not valid", repository)
	}
	return nil
}

// parseRegistry returns the canonical form of a registry's host and port. Docker
// Hub's many names become one.
func parseRegistry(text string) (string, error) {
	text = strings.ToLower(text)
	if dockerHubNames[text] {
		return dockerHub, nil
	}
	host := text
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		port := text[colon+1:]
		host = text[:colon]
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 || port[0] == '0' {
			return "", fmt.Errorf("registry %q has port %q, which is not a number from 1 to 65535", text, port)
		}
	}
	if address, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(address, "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", fmt.Errorf("registry %q is not an IPv6 address in brackets", text)
		}
		return strings.Replace(text, host, "["+addr.String()+"]", 1), nil
	}
	if !hostText.MatchString(host) {
		return "", fmt.Errorf("registry %q is not a host name", text)
	}
	return text, nil
}

// Version returns what decides which image is meant: the digest if there is
// one, else the tag.
func (r Reference) Version() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}

// Name returns registry and repository, without version.
func (r Reference) Name() string { return r.Registry + "/" + r.Repository }

// String returns the reference in full; it parses to the same reference.
func (r Reference) String() string {
	text := r.Name()
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// host returns where the registry's API answers.
func (r Reference) host() string {
	if r.Registry == dockerHub {
		return dockerHubHost
	}
	return r.Registry
}
