package peer

import (
	"fmt"
	"regexp"
	"strings"
)

// Entry is what a manager knows of a boot server.
type Entry struct {
	// Site is whose machines it answers; empty: those without a site.
	Site string
	// Key is the name of the public key (KeyOf) that its certificates have to have; empty: any. Boot servers that have joined have one.
	Key string
}

// Table says which boot servers there are, by the DNS name of their certificates in lower case.
type Table map[string]Entry

var (
	// label is an LDH label (RFC 5890 §2.3.1).
	label    = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	dnsName  = regexp.MustCompile(`^` + label + `(\.` + label + `)*$`)
	siteName = regexp.MustCompile(`^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$`) // a value of a Kubernetes label
)

// nameLimit is the longest DNS name (RFC 1035 §2.3.4), as text.
const nameLimit = 253

// CheckName refuses what cannot be the name of a boot server, and returns it in lower case.
func CheckName(name string) (string, error) {
	lower := strings.ToLower(name)
	if len(lower) > nameLimit || !dnsName.MatchString(lower) {
		return "", fmt.Errorf("%q is no DNS name without wildcard", name)
	}
	return lower, nil
}

// CheckSite refuses what cannot be the name of a site. Without a site, a boot server answers machines that have none.
func CheckSite(site string) error {
	if site != "" && !siteName.MatchString(site) {
		return fmt.Errorf("%q is no site: it has to be a value of a Kubernetes label", site)
	}
	return nil
}

// ParseTable reads NAME or NAME=SITE from each value.
func ParseTable(values []string) (Table, error) {
	t := Table{}
	for _, value := range values {
		name, site, given := strings.Cut(value, "=")
		name, err := CheckName(name)
		if err == nil && given && site == "" {
			err = fmt.Errorf("%q names no site after =", value)
		}
		if err == nil {
			err = CheckSite(site)
		}
		if _, twice := t[name]; err == nil && twice {
			err = fmt.Errorf("%q is there twice", name)
		}
		if err != nil {
			return nil, err
		}
		t[name] = Entry{Site: site}
	}
	return t, nil
}
