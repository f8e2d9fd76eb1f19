package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

const (
	// OwnManagerName is the DNS name of a manager that makes its certificate itself. The domain is for private use (ICANN, 29 July 2024).
	OwnManagerName = "boot-stream.farrier.internal"

	// ownCertificatesDir is the folder of the data directory for authority and certificates.
	ownCertificatesDir = "boot-stream"
	// ownInterval is how often certificates are looked at: whether ours has to be renewed, and whether somebody has issued one.
	ownInterval = 2 * time.Second
)

// OwnBootStream makes authority and certificate of the boot stream where no flag names them, in the data directory, which has to be this process's.
// It comes before Start.
func (s *System) OwnBootStream() error {
	o := s.settings
	if s.stream == nil || o.BootStreamCertificatesDir != "" {
		return nil
	}
	now := clock.RealClock{}.Now()
	path := filepath.Join(o.DataDir, ownCertificatesDir)
	dir, err := openAuthority(path, now)
	if err != nil {
		return fmt.Errorf("--boot-stream-address: %w", err)
	}
	if _, err = dir.Issue(OwnManagerName, "", authority.Manager, now, authority.DefaultLifetime); err != nil && !errors.Is(err, authority.ErrExists) {
		return fmt.Errorf("--boot-stream-address: %w", err)
	}
	o.BootStreamCertificatesDir = dir.Folder(OwnManagerName)
	if o.BootStreamAuthorityDir == "" {
		o.BootStreamAuthorityDir = path
	}
	if err := renewOwn(dir, now); err != nil {
		return fmt.Errorf("--boot-stream-address: %w", err)
	}
	if err := s.readBootStream(); err != nil {
		return err
	}
	s.stream.own = dir
	s.BootStreamDir = path
	return nil
}

// openAuthority opens the authority, and makes it at the first start.
func openAuthority(path string, now time.Time) (*authority.Dir, error) {
	if _, err := os.Lstat(filepath.Join(path, peer.CAFile)); errors.Is(err, fs.ErrNotExist) {
		return authority.Init(path, now)
	}
	return authority.OpenDir(path, now)
}

// renewOwn renews the manager's certificate when that is due. An authority that was replaced has not issued the present one.
func renewOwn(dir *authority.Dir, now time.Time) error {
	own, err := dir.Read(OwnManagerName)
	if err != nil {
		return err
	}
	if now.Before(own.RenewAt) {
		return nil
	}
	_, err = dir.Renew(OwnManagerName, now, 0)
	return err
}

// keepOwn renews the manager's certificate, and lets every boot server connect that somebody has issued a certificate in the directory.
func (s *System) keepOwn(ctx context.Context, given func(peer.Table)) error {
	b := s.stream
	tick := time.NewTicker(ownInterval)
	defer tick.Stop()
	failed := false // which is said once
	for {
		table, err := s.issued()
		given(table)
		if err = errors.Join(err, renewOwn(b.own, time.Now())); err != nil && !failed {
			s.logger.Info("certificates of the boot stream not read or not renewed", "error", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// issued are the boot servers of the flag and of the directory. What cannot be read there is in the error.
func (s *System) issued() (peer.Table, error) {
	table := peer.Table{}
	certificates, err := s.stream.own.List()
	for i := range certificates {
		if c := &certificates[i]; c.Role == authority.BootServer {
			table[c.Name] = peer.Entry{Site: c.Site}
		}
	}
	maps.Copy(table, s.settings.bootServers)
	return table, err
}
