package enroll

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/host/boundedfile"
)

const (
	// askTimeout bounds one request, connecting included.
	askTimeout = 30 * time.Second
	// retryFirst and retryLast bound the time between two requests that fail. A boot server with an expired certificate is cut off, so it
	// asks often.
	retryFirst = 5 * time.Second
	retryLast  = time.Minute
	// lookAgain is how often a Renewer looks whether it has to do anything: a clock may be set.
	lookAgain = time.Hour
)

// Renewer keeps the certificate of a boot server up to date, in a directory: tls.key, tls.crt and ca.crt. The last one has to be there at
// first; it says which manager is trusted.
type Renewer struct {
	// Dir is the boot server's alone.
	Dir string
	// Address is that of the manager's listener for certificates, Manager the DNS name in the manager's certificate.
	Address, Manager string
	// Token joins, where there is no certificate yet or its key is not bound any more; empty: there is none.
	Token  string
	Clock  clock.WithTicker
	Logger logr.Logger
	// Renewed is called after files have changed; nil: nobody wants to know.
	Renewed func()
}

// Ensure joins if the directory has no certificate yet. An expired one is left to Run.
func (r *Renewer) Ensure(ctx context.Context) error {
	_, err := r.leaf()
	if errors.Is(err, fs.ErrNotExist) {
		return r.join(ctx)
	}
	return err
}

// Run renews the certificate after two thirds of its lifetime, and as often as it takes, until ctx ends. It joins if Ensure could not.
func (r *Renewer) Run(ctx context.Context) error {
	retry := retryFirst
	for {
		wait := lookAgain
		leaf, err := r.leaf()
		if errors.Is(err, fs.ErrNotExist) {
			wait, err = retryFirst, r.join(ctx)
		} else if err == nil {
			wait = min(wait, authority.RenewAt(leaf).Sub(r.Clock.Now()))
			if wait <= 0 {
				// What was issued is looked at next, but not at once: by a wrong clock of the manager it could be due already.
				wait, err = retryFirst, r.renew(ctx)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			wait, retry = retry, min(2*retry, retryLast)
			r.failed(leaf, err, wait)
		} else {
			retry = retryFirst
		}
		timer := r.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C():
		}
	}
}

func (r *Renewer) failed(leaf *x509.Certificate, err error, wait time.Duration) {
	logger := r.Logger.WithValues("retryAfter", wait.String())
	if leaf != nil {
		logger = logger.WithValues("expires", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	logger.Error(err, "certificate of the boot stream not renewed")
}

// renew asks for the next certificate. A key that is not bound any more joins again, if there is a token.
func (r *Renewer) renew(ctx context.Context) error {
	request, err := r.request()
	if err != nil {
		return err
	}
	identity, err := peer.FromFiles(peer.In(r.Dir), peer.Options{Clock: r.Clock, Logger: logr.Discard()})
	if err != nil {
		return err
	}
	var issued *streampb.Issued
	err = r.ask(ctx, identity.ClientConfig(r.Manager), func(ctx context.Context, c streampb.BootServerCertificatesClient) error {
		response, err := c.Renew(ctx, &streampb.RenewRequest{CertificateRequest: request})
		issued = response.GetIssued()
		return err
	})
	if err != nil {
		if code := status.Code(err); r.Token != "" && (code == codes.PermissionDenied || code == codes.Unauthenticated) {
			if joining := r.join(ctx); joining != nil {
				return errors.Join(fmt.Errorf("renew: %w", err), joining)
			}
			return nil
		}
		return fmt.Errorf("renew: %w", err)
	}
	return r.keep(issued)
}

// join asks for the first certificate. The key is kept before that, so that a lost answer can be asked for again.
func (r *Renewer) join(ctx context.Context) error {
	if r.Token == "" {
		return fmt.Errorf("%s is missing, and there is no token to join with", r.file(peer.CertFile))
	}
	if _, err := TokenName(r.Token); err != nil {
		return err
	}
	request, err := r.request()
	if err != nil {
		return err
	}
	authorities, err := os.ReadFile(r.file(peer.CAFile))
	if err != nil {
		return err
	}
	config, err := peer.AnonymousConfig(authorities, r.Manager, r.Clock)
	if err != nil {
		return fmt.Errorf("%s: %w", r.file(peer.CAFile), err)
	}
	var issued *streampb.Issued
	err = r.ask(ctx, config, func(ctx context.Context, c streampb.BootServerCertificatesClient) error {
		response, err := c.Join(ctx, &streampb.JoinRequest{Token: r.Token, CertificateRequest: request})
		issued = response.GetIssued()
		return err
	})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return r.keep(issued)
}

func (r *Renewer) ask(ctx context.Context, config *tls.Config, ask func(context.Context, streampb.BootServerCertificatesClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// The name counts, not the address: nothing is looked up, and no proxy of the environment is used.
	conn, err := grpc.NewClient("passthrough:///"+r.Address, grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimitAnswer)))
	if err != nil {
		return err
	}
	return errors.Join(ask(ctx, streampb.NewBootServerCertificatesClient(conn)), conn.Close())
}

// messageLimitAnswer has room for a bundle of authorities.
const messageLimitAnswer = 1 << 20

// request is a certificate request by the key of the directory, which is made when it is missing.
func (r *Renewer) request() ([]byte, error) {
	file := r.file(peer.KeyFile)
	content, err := boundedfile.ReadKey(file, boundedfile.Certificates)
	var key crypto.Signer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var keyPEM []byte
		if key, keyPEM, err = authority.NewKey(); err == nil {
			err = atomicfile.Write(file, keyPEM, 0o600)
		}
	case err == nil:
		if key, err = authority.ReadKey(content); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// keep writes what was issued, after a look at whether it is what was asked for. Authorities come first: a new manager is trusted before
// the old one is gone.
func (r *Renewer) keep(issued *streampb.Issued) error {
	keyPEM, err := boundedfile.ReadKey(r.file(peer.KeyFile), boundedfile.Certificates)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(issued.GetChain(), keyPEM)
	if err != nil {
		return fmt.Errorf("the manager has issued a certificate that does not fit the key: %w", err)
	}
	if now := r.Clock.Now(); !now.Before(pair.Leaf.NotAfter) {
		return fmt.Errorf("the manager has issued a certificate that ended on %s: one of the clocks is wrong", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if _, err := peer.AnonymousConfig(issued.GetAuthorities(), r.Manager, r.Clock); err != nil {
		return fmt.Errorf("the manager's authorities: %w", err)
	}
	if err := atomicfile.Write(r.file(peer.CAFile), issued.GetAuthorities(), 0o600); err != nil {
		return err
	}
	if err := atomicfile.Write(r.file(peer.CertFile), issued.GetChain(), 0o600); err != nil {
		return err
	}
	r.Logger.Info("boot server has a new certificate", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	if r.Renewed != nil {
		r.Renewed()
	}
	return nil
}

// leaf is the certificate of the directory.
func (r *Renewer) leaf() (*x509.Certificate, error) {
	pair, err := boundedfile.KeyPair(r.file(peer.CertFile), r.file(peer.KeyFile))
	if err != nil {
		return nil, err
	}
	return pair.Leaf, nil
}

func (r *Renewer) file(name string) string { return filepath.Join(r.Dir, name) }
