package authority

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

const (
	authorityKeyFile = "ca.key"
	siteFile         = "site"

	private = 0o600
	public  = 0o644
)

// Dir is a directory of PEM files: ca.crt, ca.key, and a folder for each name with tls.crt, tls.key and ca.crt, as cert-manager names
// them, and the site.
type Dir struct {
	path      string
	authority *Authority
}

// Init makes a directory with an authority. It never replaces one.
func Init(path string, now time.Time) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{peer.CAFile, authorityKeyFile} {
		file := filepath.Join(path, name)
		if _, err := os.Lstat(file); err == nil {
			return nil, fmt.Errorf("%s is there: the directory has an authority, which is not replaced", file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	cert, key, err := New(now)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(path, authorityKeyFile), key, private); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(path, peer.CAFile), cert, public); err != nil {
		return nil, err
	}
	return OpenDir(path, now)
}

// OpenDir opens a directory that Init has made. Its errors name the file.
func OpenDir(path string, now time.Time) (*Dir, error) {
	certFile, keyFile := filepath.Join(path, peer.CAFile), filepath.Join(path, authorityKeyFile)
	cert, err := boundedfile.Read(certFile, boundedfile.Certificates)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: 'farrier cert init' makes it", certFile)
	}
	if err != nil {
		return nil, err
	}
	key, err := boundedfile.ReadKey(keyFile, boundedfile.Certificates)
	if err != nil {
		return nil, err
	}
	a, err := Read(cert, key, now)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	return &Dir{path: path, authority: a}, nil
}

// Authority is that of the directory.
func (d *Dir) Authority() *Authority { return d.authority }

// Folder is where the files of a name are.
func (d *Dir) Folder(name string) string { return filepath.Join(d.path, name) }

// Certificate is one of a directory.
type Certificate struct {
	Name    string
	Role    Role
	Site    string
	Expires time.Time
	// RenewAt is when Renew should come.
	RenewAt time.Time
	Serial  string
}

// ErrExists is wrapped by the error of Issue for a name that has a certificate.
var ErrExists = errors.New("there is a certificate already")

// Issue makes key and certificate for a name that has none.
func (d *Dir) Issue(name, site string, role Role, now time.Time, lifetime time.Duration) (Certificate, error) {
	folder := d.Folder(name)
	if _, err := os.Lstat(filepath.Join(folder, peer.CertFile)); err == nil {
		return Certificate{}, fmt.Errorf("%s: %w", filepath.Join(folder, peer.CertFile), ErrExists)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Certificate{}, err
	}
	key, keyPEM, err := NewKey()
	if err != nil {
		return Certificate{}, err
	}
	if err := atomicfile.Write(filepath.Join(folder, peer.KeyFile), keyPEM, private); err != nil {
		return Certificate{}, err
	}
	if err := atomicfile.Write(filepath.Join(folder, siteFile), []byte(site+"\n"), public); err != nil {
		return Certificate{}, err
	}
	return d.write(name, key.Public(), role, now, lifetime)
}

// Renew makes another certificate for the key of a name, as long as the one before, or for the lifetime if it is not zero.
func (d *Dir) Renew(name string, now time.Time, lifetime time.Duration) (Certificate, error) {
	leaf, err := d.leaf(name)
	if err != nil {
		return Certificate{}, err
	}
	keyFile := filepath.Join(d.Folder(name), peer.KeyFile)
	keyPEM, err := boundedfile.ReadKey(keyFile, boundedfile.Certificates)
	if err != nil {
		return Certificate{}, err
	}
	key, err := ReadKey(keyPEM)
	if err != nil {
		return Certificate{}, fmt.Errorf("%s: %w", keyFile, err)
	}
	if lifetime == 0 {
		lifetime = leaf.NotAfter.Sub(leaf.NotBefore.Add(backdate))
	}
	return d.write(name, key.Public(), RoleOf(leaf), now, lifetime)
}

// write issues a certificate. The one before stays until it is complete.
func (d *Dir) write(name string, key crypto.PublicKey, role Role, now time.Time, lifetime time.Duration) (Certificate, error) {
	folder := d.Folder(name)
	cert, err := d.authority.Issue(key, name, role, now, lifetime)
	if err != nil {
		return Certificate{}, err
	}
	if err := atomicfile.Write(filepath.Join(folder, peer.CAFile), d.authority.PEM(), public); err != nil {
		return Certificate{}, err
	}
	if err := atomicfile.Write(filepath.Join(folder, peer.CertFile), cert, public); err != nil {
		return Certificate{}, err
	}
	return d.read(name)
}

// List returns the certificates by name. What cannot be read is in the error, which names the files; the others are returned all the same.
func (d *Dir) List() ([]Certificate, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var list []Certificate
	var errs []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(d.Folder(e.Name()), peer.CertFile)); errors.Is(err, fs.ErrNotExist) {
			continue // somebody else's folder
		}
		c, err := d.read(e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}

func (d *Dir) read(name string) (Certificate, error) {
	leaf, err := d.leaf(name)
	if err != nil {
		return Certificate{}, err
	}
	site, err := os.ReadFile(filepath.Join(d.Folder(name), siteFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Certificate{}, err
	}
	return Certificate{
		Name: name, Role: RoleOf(leaf), Site: strings.TrimSpace(string(site)), Expires: leaf.NotAfter.UTC(), RenewAt: RenewAt(leaf).UTC(),
		Serial: fmt.Sprintf("%x", leaf.SerialNumber),
	}, nil
}

func (d *Dir) leaf(name string) (*x509.Certificate, error) {
	file := filepath.Join(d.Folder(name), peer.CertFile)
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: 'farrier cert issue %s' makes it", file, name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return leaf, nil
}
