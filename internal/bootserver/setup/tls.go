package setup

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inbound/boottls"
)

// checkTLS reads what is said of HTTPS for machines. It comes after checkURLs, which reads the URLs.
func (s *Settings) checkTLS() error {
	o := s.o
	var errs []error
	if o.BootTLSAddress == "" {
		for flag, given := range map[string]bool{
			"boot-tls-cert-file": o.BootTLSCertFile != "", "boot-tls-key-file": o.BootTLSKeyFile != "", "boot-tls-names": len(o.BootTLSNames) > 0,
			"boot-tls-forward-secrecy": o.BootTLSForwardSecrecy, "boot-secrets-need-tls": o.BootSecretsNeedTLS,
		} {
			if given {
				errs = append(errs, fmt.Errorf("--%s: needs --boot-tls-address, where machines are answered over TLS", flag))
			}
		}
		if o.BootAddress == "" {
			errs = append(errs, errors.New("--boot-address: is empty, and so is --boot-tls-address: machines would be answered nowhere"))
		}
	}
	for _, name := range o.BootTLSNames {
		if _, err := netip.ParseAddr(name); err != nil && !isDNSName(strings.TrimPrefix(strings.ToLower(name), "*.")) {
			errs = append(errs, fmt.Errorf("--boot-tls-names: %q is neither an IP address nor a DNS name", name))
		}
	}
	if o.BootTLSAddress != "" && o.BootTLSCAFile != "" && o.BootTLSCertFile == "" {
		errs = append(errs, fmt.Errorf("%s: needs %s: the authority of certificates that Farrier makes is its own", boottls.FlagCA, boottls.FlagCert))
	}
	if o.BootSecretsNeedTLS {
		for _, base := range s.Sites.Bases() {
			if !isHTTPS(base) {
				errs = append(errs, fmt.Errorf("--boot-secrets-need-tls: --boot-url %s sends machines where their secrets are refused", base))
			}
		}
	}
	return errors.Join(errs...)
}

// dnsLabel is one of a host name in lower case (RFC 1123 §2.1).
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func isDNSName(name string) bool {
	return len(name) <= 253 && !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !dnsLabel.MatchString(label) })
}

func isHTTPS(base string) bool { return strings.HasPrefix(base, "https://") }

// ReachedAt completes Sites by the URLs of our own listeners; empty: there is no such listener.
func (s *Settings) ReachedAt(plain, secure string) {
	s.Sites = s.Sites.WithDefault(secure).WithDefault(plain)
	if plain == "" || secure == "" {
		return
	}
	// A machine that asks the plain listener for the chainload script is of the site whose host it has asked.
	if _, port, err := net.SplitHostPort(strings.TrimPrefix(plain, "http://")); err == nil {
		s.Sites = s.Sites.AlsoAt(port)
	}
}

// TLSNames are what the certificate for machines is for, and those that are named in addition.
func (s *Settings) TLSNames(more ...string) []string {
	names := more
	for _, base := range append(s.Sites.Bases(), s.o.ImageServerURL) {
		if u, err := url.Parse(base); err == nil && isHTTPS(base) {
			names = append(names, u.Hostname())
		}
	}
	names = append(names, s.o.BootTLSNames...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// TLSFiles are those of the user's own certificate.
func (s *Settings) TLSFiles() boottls.Files {
	return boottls.Files{Cert: s.o.BootTLSCertFile, Key: s.o.BootTLSKeyFile, CA: s.o.BootTLSCAFile}
}

// TLSOptions are how the certificate for machines is used.
func TLSOptions(names []string, logger logr.Logger) boottls.Options {
	return boottls.Options{Names: names, Clock: clock.RealClock{}, Logger: logger}
}

// DeriveURL is the URL of a server that listens at address: the address itself, or, if that is
// all of them, loopback for a simulated rack and else the first address that machines can reach.
func DeriveURL(address net.Addr, simulated, secure bool) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.IP
	if ip == nil || ip.IsUnspecified() { // ":8082" has none
		ip = net.IPv4(127, 0, 0, 1)
		if !simulated {
			if found := routableAddress(); found != nil {
				ip = found
			}
		}
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(ip.String(), fmt.Sprint(tcp.Port))
}

func routableAddress() net.IP {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}
