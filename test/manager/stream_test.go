package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/outbox"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

const managerName = "boot-stream.farrier.example"

// streaming is a site whose managers serve the boot stream at addresses of their own.
type streaming struct {
	*site
	dir *authority.Dir
}

func newStreaming(t *testing.T, change ...func(*sim.Options)) *streaming {
	t.Helper()
	return newStreamingOf(t, 1, change...)
}

func newStreamingOf(t *testing.T, servers int, change ...func(*sim.Options)) *streaming {
	t.Helper()
	s := newSiteOf(t, servers, change...)
	dir, err := authority.Init(t.TempDir()+"/pki", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Issue(managerName, "", authority.Manager, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	return &streaming{s, dir}
}

// launch starts a manager and returns the address of its boot stream.
func (s *streaming) launch(name string, args ...string) (*process, string) {
	s.t.Helper()
	stream := loopback.Free(s.t)
	return launch(s.t, name, slices.Concat(s.args, []string{
		"--boot-stream-address", stream, "--boot-stream-certificates-dir", s.dir.Folder(managerName),
	}, args)...), stream
}

// credentials are those of a boot server.
func (s *streaming) credentials(name string) credentials.TransportCredentials {
	s.t.Helper()
	if _, err := s.dir.Issue(name, "", authority.BootServer, time.Now(), time.Hour); err != nil && !errors.Is(err, authority.ErrExists) {
		s.t.Fatal(err)
	}
	i, err := peer.FromFiles(peer.In(s.dir.Folder(name)), peer.Options{Logger: testr.New(s.t)})
	if err != nil {
		s.t.Fatal(err)
	}
	return credentials.NewTLS(i.ClientConfig(managerName))
}

// station is a boot server in the process of the test, which knows no Kubernetes.
type station struct {
	*bootstream.Follower
	t    *testing.T
	view *bootview.View
	box  *outbox.Outbox
}

// station starts one that answers machines at an address.
func (s *streaming) station(name, address string, managers ...string) *station {
	s.t.Helper()
	images := registry.Options{AllowedRegistries: []string{s.registry.Address()}, PlainHTTP: []string{s.registry.Address()}}
	blobs, err := blobcache.New(blobcache.Options{Options: images, Dir: s.t.TempDir(), MaxBytes: 1 << 30})
	if err != nil {
		s.t.Fatal(err)
	}
	b := &station{t: s.t, view: bootview.New(), box: outbox.Open(outbox.Config{Logger: logr.Discard()})}
	b.Follower = bootstream.NewFollower(bootstream.FollowerOptions{
		Managers: managers, Credentials: s.credentials(name), Instance: name, Applier: records.NewViews(b.view, nil, nil, blobs), Logger: testr.New(s.t),
	})
	server, err := bootserver.New(bootserver.Config{
		View: b.view, Blobs: blobs, Reports: b, Deliver: b.box.Deliver, Early: b.box.Early, BootURL: "http://" + address, Logger: testr.New(s.t),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = b.Run(ctx) })
	parts.Go(func() { _ = server.Serve(ctx, listener) })
	parts.Go(func() { b.tell(ctx) })
	s.t.Cleanup(func() {
		cancel()
		parts.Wait()
		_ = blobs.Close()
	})
	return b
}

// tell hands over what waits until ctx ends.
func (b *station) tell(ctx context.Context) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if c := b.Connected(); c != nil {
			if r := b.box.Next(100); r != nil {
				if _, err := c.Tell(ctx, r); err == nil {
					b.box.Done(r.Number)
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// Register implements bootserver.Reports.
func (b *station) Register(ctx context.Context, r inspection.Registration) error {
	body := fmt.Appendf(nil, `{"systemUUID":%q,"data":%s}`, r.SystemUUID, r.Raw)
	return b.store(ctx, &streampb.StoreRequest{Kind: &streampb.StoreRequest_Registration{Registration: body}, Attempt: r.Attempt, Contested: r.Contested})
}

// BootState implements bootserver.Reports.
func (b *station) BootState(ctx context.Context, s inspection.BootState) error {
	body, err := inspection.EncodeBootState(s.SystemUUID, s.Booted)
	if err != nil {
		return err
	}
	return b.store(ctx, &streampb.StoreRequest{Kind: &streampb.StoreRequest_BootState{BootState: body}, Attempt: s.Attempt})
}

func (b *station) store(ctx context.Context, r *streampb.StoreRequest) error {
	c := b.Connected()
	if c == nil {
		return errors.New("no manager")
	}
	answer, err := c.Store(ctx, r)
	switch {
	case err != nil:
		return err
	case answer.Outcome == streampb.StoreResponse_OUTCOME_UNKNOWN_MACHINE:
		return inspection.ErrUnknownMachine
	case answer.Outcome == streampb.StoreResponse_OUTCOME_TOO_LARGE:
		return inspection.ErrTooLarge
	}
	return nil
}

// follows waits until the station follows a manager.
func (b *station) follows(manager string) {
	b.t.Helper()
	eventually(b.t, "the boot server follows "+manager, func() error {
		if s := b.State(); s.Manager != manager || !s.Synced {
			return fmt.Errorf("it is %+v", s)
		}
		return nil
	})
}

// TestMachinesBootFromABootServerWithoutKubernetes: they are inspected and claimed through one that knows the boot stream alone, while the
// manager answers no machine: reports are stored, and deliveries are conditions.
func TestMachinesBootFromABootServerWithoutKubernetes(t *testing.T) {
	machines := loopback.Free(t)
	s := newStreaming(t, func(o *sim.Options) { o.BootURL = func() string { return "http://" + machines + "/ipxe/" } })
	m, stream := s.launch("first", "--boot-servers", "boot-1.example", "--boot-url", "http://"+machines)
	m.isReady()
	b := s.station("boot-1.example", machines, stream)
	b.follows(stream)
	s.discover()
	s.claim("tenants")
	key := client.ObjectKey{Namespace: s.namespace, Name: "tenants"}
	eventually(t, "the deliveries in conditions", func() error {
		var config bootv1.IPXEBootConfig
		if err := s.Get(t.Context(), key, &config); err != nil {
			return err
		}
		for _, c := range []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIgnitionDataFetched} {
			if !apimeta.IsStatusConditionTrue(config.Status.Conditions, c) {
				return fmt.Errorf("%s is not True: %v", c, config.Status.Conditions)
			}
		}
		return nil
	})
	m.stop()
}

// TestWhoMayNotFollow: another name of the same authority is refused, and so is a certificate of a manager.
func TestWhoMayNotFollow(t *testing.T) {
	s := newStreaming(t)
	m, stream := s.launch("first", "--boot-servers", "boot-1.example")
	m.isReady()
	b := s.station("boot-2.example", loopback.Free(t), stream)
	eventually(t, "the refusal in the log", func() error {
		if !strings.Contains(m.Log(), "reason=WrongName") {
			return errors.New("it is not there")
		}
		return nil
	})
	if state := b.State(); state.Manager != "" || b.view.Len() != 0 {
		t.Errorf("it follows %q and has %d entries", state.Manager, b.view.Len())
	}
	err := b.store(t.Context(), &streampb.StoreRequest{})
	if status.Code(err) == codes.OK {
		t.Error("its report is taken")
	}
}

func TestBootStreamRefused(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"boot-servers: needs --boot-stream-address":    {"--boot-servers", "boot-1.example"},
		"--boot-stream-certificates-dir: is needed":    {"--boot-stream-address", "127.0.0.1:0"},
		"--boot-stream-certificates-dir: open":         {"--boot-stream-address", "127.0.0.1:0", "--boot-stream-certificates-dir", dir},
		"--boot-servers: \"*.example\" is no DNS name": {"--boot-stream-address", "127.0.0.1:0", "--boot-stream-certificates-dir", dir, "--boot-servers", "*.example"},
		"--boot-stream-authority-dir: is needed":       {"--boot-stream-address", "127.0.0.1:0", "--boot-stream-certificates-dir", dir, "--boot-stream-join-address", "127.0.0.1:0"},
	} {
		if said := refused(t, args...); !strings.Contains(said, name) {
			t.Errorf("%v: %s", args, said)
		}
	}
}
