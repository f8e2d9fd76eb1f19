package booturl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// ParseFlag is Parse for the values of a flag, which each line of the error names.
func ParseFlag(flag string, values []string) (Sites, error) { return read("--"+flag+": ", values) }

// Parse reads URL, of the default site, or site=URL. Every value that cannot be used is named.
func Parse(values []string) (Sites, error) { return read("", values) }

func read(prefix string, values []string) (Sites, error) {
	by := map[string]site{}
	var errs []error
	for _, value := range values {
		if err := add(by, value); err != nil {
			errs = append(errs, fmt.Errorf("%s%w", prefix, err))
		}
	}
	if len(errs) > 0 || len(by) == 0 {
		return Sites{}, errors.Join(errs...)
	}
	return Sites{by: by, hosts: hostsOf(by)}, nil
}

// labelValue is what a Kubernetes label may be; a site that no label can name would never be used.
var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

func add(by map[string]site, value string) error {
	name, base := "", value
	// A URL may have a "=" in its path; what stands before one is a name only in front of the scheme.
	if before, after, found := strings.Cut(value, "="); found && !strings.Contains(before, "://") {
		if name, base = before, after; !labelValue.MatchString(name) {
			return fmt.Errorf("%q: %q is no value of a label, so no Server can be of that site", value, name)
		}
	}
	base, err := Check(base)
	if err != nil {
		return err
	}
	bases := by[name].bases
	u, err := parse(base)
	if err != nil {
		return err
	}
	switch v6 := isIPv6(u); {
	case v6 && bases.v6 != "":
		return fmt.Errorf("%q: %s has the IPv6 URL %s already", value, describe(name), bases.v6)
	case !v6 && bases.v4 != "":
		return fmt.Errorf("%q: %s has the URL %s already, and only an IPv6 literal may stand beside it", value, describe(name), bases.v4)
	}
	by[name] = site{name, bases.with(base)}
	return nil
}

func describe(name string) string {
	if name == "" {
		return "the default site"
	}
	return fmt.Sprintf("site %q", name)
}

// Check returns a base URL without a slash at its end. It goes into scripts as it is, where white space ends a word and a
// control character may end the line.
func Check(base string) (string, error) {
	if i := strings.IndexFunc(base, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		return "", fmt.Errorf("%q: white space or a control character at byte %d", base, i)
	}
	u, err := parse(base)
	if err != nil {
		return "", err
	}
	port := true
	if u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		port = err == nil && n > 0
	}
	switch {
	case u.User != nil:
		return "", fmt.Errorf("%q: everybody may read scripts, so no credentials go into them", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q is no http(s) URL", base)
	case u.Hostname() == "" || !port:
		return "", fmt.Errorf("%q has no host, or a port that there is not", base)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("%q: want scheme, host and maybe a path", base)
	case strings.Contains(u.Hostname(), "%"):
		return "", fmt.Errorf("%q: the zone of an address means nothing to another host (RFC 4007 §6)", base)
	}
	return strings.TrimRight(base, "/"), nil
}

func parse(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err == nil {
		return u, nil
	}
	// What net/url quotes may hold a password.
	var problem *url.Error
	if errors.As(err, &problem) {
		err = problem.Err
	}
	if strings.Contains(base, "@") {
		return nil, errors.New("a URL with credentials that cannot be read")
	}
	return nil, fmt.Errorf("%q: %w", base, err)
}

func isIPv6(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Unmap().Is6()
}
