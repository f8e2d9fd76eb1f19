package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/credentials"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/enroll"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

const (
	// certificatesDir is the folder of the data directory that --certificates-dir means without a value.
	certificatesDir = "certificates"
	// tokenLimit is more than any token needs.
	tokenLimit = 4 << 10
)

// certificates are who we are on the boot stream. They implement credentials.TransportCredentials, also before there is a first certificate.
type certificates struct {
	manager string
	files   peer.Files
	clock   clock.WithTicker
	logger  logr.Logger
	// identity is nil until there is a certificate; known is closed then.
	identity atomic.Pointer[peer.Identity]
	known    chan struct{}
	// renewer is nil where somebody else puts the files there.
	renewer *enroll.Renewer
}

var errNoCertificate = errors.New("this boot server has no certificate yet")

// newCertificates reads the files. Where joining is to bring the first ones they may be missing.
func newCertificates(o *Options, c clock.WithTicker, logger logr.Logger) (*certificates, error) {
	dir := o.CertificatesDir
	if dir == "" {
		dir = filepath.Join(o.DataDir, certificatesDir)
	}
	s := &certificates{manager: o.ManagerName, files: peer.In(dir), clock: c, logger: logger, known: make(chan struct{})}
	if o.JoinAddress != "" {
		if err := s.prepareJoining(o, dir); err != nil {
			return nil, err
		}
	}
	err := s.read()
	if s.renewer != nil && errors.Is(err, fs.ErrNotExist) {
		if s.renewer.Token == "" {
			return nil, fmt.Errorf("--join-token-file: is required for the first certificate, and there is none in %s", dir)
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--certificates-dir: %w", err)
	}
	return s, nil
}

// prepareJoining makes the directory, with whom to trust at the first contact.
func (s *certificates) prepareJoining(o *Options, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--certificates-dir: %w", err)
	}
	if _, err := os.Stat(s.files.CA); errors.Is(err, fs.ErrNotExist) {
		if o.JoinCAFile == "" {
			return fmt.Errorf("--join-ca-file: is required for the first contact with a manager, and there is no %s", s.files.CA)
		}
		bundle, err := boundedfile.Read(o.JoinCAFile, boundedfile.Certificates)
		if err == nil {
			_, err = peer.AnonymousConfig(bundle, s.manager, s.clock)
		}
		if err != nil {
			return fmt.Errorf("--join-ca-file: %w", err)
		}
		if err := atomicfile.Write(s.files.CA, bundle, 0o600); err != nil {
			return fmt.Errorf("--certificates-dir: %w", err)
		}
	}
	token, err := readToken(o.JoinTokenFile)
	if err != nil {
		return fmt.Errorf("--join-token-file: %w", err)
	}
	s.renewer = &enroll.Renewer{
		Dir: dir, Address: o.JoinAddress, Manager: s.manager, Token: token, Clock: s.clock, Logger: s.logger, Renewed: s.renewed,
	}
	return nil
}

// readToken reads a token. It is for the first certificate only, so it may have gone since.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := boundedfile.ReadKey(path, tokenLimit) // whoever reads it first may join in our place
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", nil
	}
	_, err = enroll.TokenName(token)
	return token, err
}

// read reads the first certificate.
func (s *certificates) read() error {
	identity, err := peer.FromFiles(s.files, peer.Options{Clock: s.clock, Logger: s.logger})
	if err != nil {
		return err
	}
	s.identity.Store(identity)
	close(s.known)
	return nil
}

// renewed is told by the renewer after it has written files.
func (s *certificates) renewed() {
	if identity := s.identity.Load(); identity != nil {
		_ = identity.Reload() // said in the log
		return
	}
	if err := s.read(); err != nil {
		s.logger.Error(err, "certificate of the boot stream not read")
	}
}

// run renews the certificate where that is ours to do.
func (s *certificates) run(ctx context.Context) error {
	if s.renewer == nil {
		return nil
	}
	return s.renewer.Run(ctx)
}

// watch looks for newer files once there are some.
func (s *certificates) watch(ctx context.Context) error {
	select {
	case <-s.known:
		return s.identity.Load().Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

func (s *certificates) tls() (credentials.TransportCredentials, error) {
	identity := s.identity.Load()
	if identity == nil {
		return nil, errNoCertificate
	}
	return credentials.NewTLS(identity.ClientConfig(s.manager)), nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (s *certificates) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	current, err := s.tls()
	if err != nil {
		return nil, nil, err
	}
	return current.ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements credentials.TransportCredentials. Nobody connects to a boot server by them.
func (s *certificates) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// Info implements credentials.TransportCredentials.
func (s *certificates) Info() credentials.ProtocolInfo {
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, ServerName: s.manager}).Info()
}

// Clone implements credentials.TransportCredentials.
func (s *certificates) Clone() credentials.TransportCredentials { return s }

// OverrideServerName implements credentials.TransportCredentials. The name is the one of --manager-name, whatever is dialled.
func (s *certificates) OverrideServerName(string) error { return nil }
