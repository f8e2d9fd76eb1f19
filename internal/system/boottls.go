package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/inbound/boottls"
)

const (
	// bootAuthority is the Secret in the manager's namespace that holds the authority of the boot server's certificates,
	// and the ConfigMap there that says what machines are to trust.
	bootAuthority = "farrier-boot-ca"
	// bootAuthorityFile is the same certificate, in the data directory.
	bootAuthorityFile = "boot-ca.crt"
	bootAuthorityKey  = "ca.crt"
)

// listenForMachines opens the listeners of the boot server and finds out under which URL it is reached: over TLS where that is
// asked for.
func (s *System) listenForMachines() (err error) {
	o := s.settings
	var plain, secure string
	if o.BootAddress != "" {
		if s.bootListener, plain, err = s.listen("boot-address", o.BootAddress, false); err != nil {
			return err
		}
	}
	if o.BootTLSAddress != "" {
		if s.bootTLSListener, secure, err = s.listen("boot-tls-address", o.BootTLSAddress, true); err != nil {
			return err
		}
	}
	before := o.boot.Sites.Of("").Object()
	o.boot.ReachedAt(plain, secure)
	s.ownDefault = before == ""
	s.BootURL = o.boot.Sites.Of("").Object()
	return s.readBootFiles(hostOf(secure))
}

// readBootFiles reads the user's certificate, so that what is wrong with it is said before anything is started. reached is
// where the listener is reached by its address.
func (s *System) readBootFiles(reached string) (err error) {
	o := s.settings
	files := o.boot.TLSFiles()
	switch {
	case o.BootTLSAddress == "":
		s.bootTLSNames = o.boot.TLSNames()
		// Somebody else may speak TLS for us.
		s.bootCA, err = files.ReadCA()
		return err
	case files.Cert != "" || files.Key != "":
		s.bootTLSNames = o.boot.TLSNames()
		if s.bootTLS, err = boottls.FromFiles(files, s.identityOptions()); err == nil {
			s.bootCA = s.bootTLS.CA()
		}
		return err
	}
	s.bootTLSNames = o.boot.TLSNames(reached)
	return nil
}

func (s *System) identityOptions() boottls.Options {
	return setup.TLSOptions(s.bootTLSNames, s.logger.WithName("boot"))
}

// ensureBootTLS has the boot server's certificate made by our own authority, where files hold none, and writes down whom
// machines are to trust.
func (s *System) ensureBootTLS(ctx context.Context, c client.Client) error {
	if s.settings.BootTLSAddress != "" && s.bootTLS == nil {
		authority, err := ensureBootAuthority(ctx, c, s.settings.ManagerNamespace, time.Now())
		if err != nil {
			return err
		}
		if s.bootTLS, err = boottls.FromAuthority(authority, s.identityOptions()); err != nil {
			return err
		}
		s.bootCA = s.bootTLS.CA()
	}
	if len(s.bootCA) == 0 {
		return nil
	}
	path := s.BootCAFile()
	if err := os.MkdirAll(s.settings.DataDir, 0o700); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	// Renamed into place, whoever reads it never sees half of it.
	if err := os.WriteFile(path+".new", s.bootCA, 0o644); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return nil
}

// ensureBootAuthority reads the authority, and makes it at the first start. It outlives restarts and is the same for all that
// take turns: machines have it in their firmware.
func ensureBootAuthority(ctx context.Context, c client.Client, namespace string, now time.Time) (*boottls.Authority, error) {
	secret := corev1.Secret{}
	name := client.ObjectKey{Namespace: namespace, Name: bootAuthority}
	err := c.Get(ctx, name, &secret)
	if apierrors.IsNotFound(err) {
		cert, key, makeErr := boottls.NewAuthority(now)
		if makeErr != nil {
			return nil, makeErr
		}
		secret = corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bootAuthority}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
		}
		if err = c.Create(ctx, &secret); apierrors.IsAlreadyExists(err) {
			err = c.Get(ctx, name, &secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w", name, err)
	}
	authority, err := boottls.ReadAuthority(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], now)
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w; delete the Secret to have another authority made, which machines have to be told to trust", name, err)
	}
	return authority, nil
}

// EnsureBootCA is BootCA before Start, for those who put it into what machines boot. It makes our own authority if there is none yet.
func (s *System) EnsureBootCA(ctx context.Context, c client.Client) ([]byte, error) {
	if err := s.ensureBootTLS(ctx, c); err != nil {
		return nil, err
	}
	return s.bootCA, nil
}

// SpeaksTLS reports whether machines of any site are sent to the boot server over https.
func (s *System) SpeaksTLS() bool {
	return slices.ContainsFunc(s.settings.boot.Sites.Bases(), func(base string) bool { return strings.HasPrefix(base, "https://") })
}

// BootCA is what machines verify the boot server with, PEM; nil: that is not known, or nobody speaks TLS. It is known once Start
// has returned.
func (s *System) BootCA() []byte { return s.bootCA }

// BootCAFile is where the same stands.
func (s *System) BootCAFile() string { return filepath.Join(s.settings.DataDir, bootAuthorityFile) }

// publishBootCA says where machines reach the boot server and whom they are to trust, for whoever puts that into firmware,
// boot programs and images.
func (s *System) publishBootCA(ctx context.Context, c client.Client, live client.Reader) error {
	if s.bootTLS == nil {
		return nil
	}
	data := map[string]string{"url": s.BootURL}
	if len(s.bootCA) > 0 {
		data[bootAuthorityKey] = string(s.bootCA)
	}
	if err := operator.PublishData(ctx, c, live, s.settings.ManagerNamespace, bootAuthority, data); err != nil {
		s.logger.Info("boot authority not published in the API, only in the data directory", "file", s.BootCAFile(), "error", err)
	}
	return nil
}

// serveBootTLS answers machines over TLS.
func (s *System) serveBootTLS(ctx context.Context) error {
	s.logger.V(1).Info("boot server listens for TLS", "address", s.bootTLSListener.Addr().String(), "names", s.bootTLSNames)
	return s.boot.ServeTLS(ctx, s.callers.machines.TLSListener(s.bootTLSListener, s.settings.boot.Pace()), s.bootTLS.ServerConfig(s.settings.BootTLSForwardSecrecy))
}

// renewBootTLS keeps the certificate of the boot server up to date.
func (s *System) renewBootTLS(ctx context.Context) error {
	if s.bootTLS == nil {
		return nil
	}
	return s.bootTLS.Run(ctx)
}
