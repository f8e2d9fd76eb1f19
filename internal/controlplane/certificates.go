package controlplane

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/pki"
)

const pkiDir = "pki"

var loopback = net.IPv4(127, 0, 0, 1)

// certificates is what the API server and its clients show each other.
type certificates struct {
	authority  *pki.Authority
	serving    *pki.Pair
	signingKey string // of service account tokens
}

func openCertificates(dir *datadir.Dir, listen net.IP, now time.Time) (*certificates, error) {
	path, err := dir.Private(pkiDir)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	authority, err := pki.OpenAuthority(path, now)
	if err != nil {
		return nil, err
	}
	c := &certificates{authority: authority}
	ips, names := servingNames(listen)
	if c.serving, err = authority.Serving("apiserver", ips, names); err != nil {
		return nil, err
	}
	// Former versions kept the administrator's there, valid for five years. The API takes it no longer (authentication.go).
	if err := authority.RemoveClient("admin"); err != nil {
		return nil, err
	}
	if c.signingKey, err = authority.SigningKey("service-account"); err != nil {
		return nil, err
	}
	return c, nil
}

// servingNames lists under which addresses clients may connect. Listening everywhere means every address this machine has now.
func servingNames(listen net.IP) ([]net.IP, []string) {
	ips := []net.IP{loopback}
	names := []string{"localhost"}
	if listen.Equal(loopback) {
		return ips, names
	}
	if !listen.IsUnspecified() {
		return append(ips, listen), names
	}
	if hostname, err := os.Hostname(); err == nil {
		names = append(names, hostname)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ips, names
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
			ips = append(ips, network.IP)
		}
	}
	return ips, names
}

// localIP is how clients on this machine reach the listener.
func localIP(address *net.TCPAddr) net.IP {
	if address.IP.IsUnspecified() {
		return loopback
	}
	return address.IP
}

func serverURL(address *net.TCPAddr) string {
	return "https://" + net.JoinHostPort(localIP(address).String(), strconv.Itoa(address.Port))
}

// Serving is a certificate of the API's authority for another server of this process, which listens at that IP and is also reached under
// the hosts, names or IPs. It is kept in the data directory under its name, which must not be one of the API's own.
func (s *Server) Serving(name string, listen net.IP, hosts ...string) (tls.Certificate, error) {
	ips, names := servingNames(listen)
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			ips = append(ips, ip)
		} else if host != "" {
			names = append(names, host)
		}
	}
	pair, err := s.issued.authority.Serving(name, ips, names)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
}

// Authority is the certificate, PEM, of the authority that signs the API's certificate and those of its clients.
func (s *Server) Authority() []byte { return s.issued.authority.CertPEM }

// CAFile is the file that holds it.
func (s *Server) CAFile() string { return s.issued.authority.CertFile }
