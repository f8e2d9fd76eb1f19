package streaming

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// Names in the certificates.
const (
	ManagerName    = "manager.farrier.example"
	bootServerName = "boot.farrier.example"
)

// lifetime of certificates is longer than any benchmark.
const lifetime = 24 * time.Hour

// Certificates are folders with those of a manager and those of its boot servers, which share one.
type Certificates struct{ Manager, BootServer string }

// Issue makes certificates in a folder that does not exist yet.
func Issue(folder string) (Certificates, error) {
	now := time.Now()
	dir, err := authority.Init(folder, now)
	if err != nil {
		return Certificates{}, err
	}
	_, err1 := dir.Issue(ManagerName, "", authority.Manager, now, lifetime)
	_, err2 := dir.Issue(bootServerName, "", authority.BootServer, now, lifetime)
	return Certificates{Manager: dir.Folder(ManagerName), BootServer: dir.Folder(bootServerName)}, errors.Join(err1, err2)
}

// ClientConfig is how a boot server whose certificates are in a folder speaks to a manager.
func ClientConfig(certificates string) (*tls.Config, error) {
	identity, err := peer.FromFiles(peer.In(certificates), peer.Options{Logger: logr.Discard()})
	if err != nil {
		return nil, err
	}
	return identity.ClientConfig(ManagerName), nil
}

// Manager serves a journal.
type Manager struct {
	*bootstream.Server
	// Address is where, and TLS how it speaks to boot servers.
	Address string
	TLS     *tls.Config
}

// nobody takes what boot servers tell.
type nobody struct{}

func (nobody) Tell(context.Context, bootstream.Peer, *streampb.TellRequest) error { return nil }

func (nobody) Store(context.Context, bootstream.Peer, *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error) {
	return 0, errors.New("there is no probe")
}

// Serve serves a journal with the manager's certificates in a folder, until the process ends. reached is told as ServerOptions.Reached says;
// it may be nil.
func Serve(ctx context.Context, certificates string, journal *bootstream.Journal, reached func([]string)) (*Manager, error) {
	identity, err := peer.FromFiles(peer.In(certificates), peer.Options{Logger: logr.Discard()})
	if err != nil {
		return nil, err
	}
	authorizer := peer.NewAuthorizer(identity, peer.Table{bootServerName: {}})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	m := &Manager{Address: l.Addr().String(), TLS: authorizer.ServerConfig()}
	m.Server = bootstream.NewServer(bootstream.ServerOptions{
		Journal: journal, Receiver: nobody{}, Reached: reached, Logger: logr.Discard(),
		Identify: func(ctx context.Context) (bootstream.Peer, error) {
			who, err := authorizer.Peer(ctx)
			return bootstream.Peer{Name: who.Name, Site: who.Site}, err
		},
	})
	serving := grpc.NewServer(grpc.Creds(authorizer.Credentials()), grpc.MaxRecvMsgSize(bootstream.MaxMessage))
	streampb.RegisterBootStreamServer(serving, m.Server)
	go Ended(func() error { return serving.Serve(l) })
	return m, nil
}

// Ended ends the process when a server of it ends: there is nothing left to measure.
func Ended(serve func() error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), serve())
	os.Exit(1)
}
