package site

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/sim"
)

// pageSize is how many objects the API is asked for at a time: an answer with 100,000 Servers would be half a gigabyte.
const pageSize = 2000

// Binaries are the programs of a site; those that are empty are built.
type Binaries struct{ API, Manager string }

// Bind binds the flags -manager and -api.
func (b *Binaries) Bind() {
	flag.StringVar(&b.Manager, "manager", "", "farrier-manager to run (default: built from this tree)")
	flag.StringVar(&b.API, "api", "", "Kubernetes API to run (default: built from this tree)")
}

// BuildApart is Build in a folder of its own, which remove removes.
func (b *Binaries) BuildApart(ctx context.Context) (remove func(), err error) {
	folder, err := os.MkdirTemp("", "farrier-bench-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	if err := b.Build(ctx, folder); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// Build builds what is not there yet.
func (b *Binaries) Build(ctx context.Context, folder string) (err error) {
	if b.API == "" {
		if b.API, err = program.Build(ctx, folder, APIPackage); err != nil {
			return err
		}
	}
	if b.Manager == "" {
		b.Manager, err = program.Build(ctx, folder, ManagerPackage)
	}
	return err
}

// Config says what a site is.
type Config struct {
	Binaries
	BMCs                   int
	Timing                 sim.Timing
	Dead                   float64
	LockAfter              int
	PollInterval, FastPoll time.Duration
	// Profiles is an address for profiles of the manager; empty: any. APIProfiles is one for those of the API; empty: none.
	Profiles, APIProfiles string
	// ManagerFlags are more of the manager's.
	ManagerFlags []string
}

// Site is a site that runs.
type Site struct {
	API     *API
	Rack    *Rack
	Manager *Manager
	folder  string
}

// Start starts a site that knows no machine yet.
func Start(ctx context.Context, c Config) (_ *Site, err error) {
	s := &Site{}
	if s.folder, err = os.MkdirTemp("", "farrier-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	addresses, err := FreeAddresses(ctx, 3)
	if err != nil {
		return nil, err
	}
	if c.Profiles != "" {
		addresses[2] = c.Profiles
	}
	if s.API, err = StartAPI(ctx, c.API, s.folder, c.APIProfiles); err != nil {
		return nil, err
	}
	if s.Rack, err = StartRack(ctx, RackConfig{BMCs: c.BMCs, Timing: c.Timing, Dead: c.Dead, LockAfter: c.LockAfter, BootURL: "http://" + addresses[0]}); err != nil {
		return nil, err
	}
	s.Manager, err = StartManager(ctx, ManagerConfig{
		Binary: c.Manager, Kubeconfig: s.API.Kubeconfig, Folder: s.folder, Rack: s.Rack, PollInterval: c.PollInterval, FastPoll: c.FastPoll,
		Boot: addresses[0], Metrics: addresses[1], Profiles: addresses[2],
		Flags: c.ManagerFlags,
	})
	if err != nil {
		return nil, err
	}
	return s, s.Manager.WaitReady(ctx)
}

// KillManager ends the manager as kill -9 does, and starts it again.
func (s *Site) KillManager(ctx context.Context) (err error) {
	if err := s.Manager.Process.Kill(); err != nil {
		return err
	}
	s.Manager, err = StartManager(ctx, s.Manager.config)
	return err
}

// Stop ends everything.
func (s *Site) Stop() error {
	var errs []error
	if s.Manager != nil {
		errs = append(errs, s.Manager.Process.Stop())
	}
	if s.Rack != nil {
		errs = append(errs, s.Rack.Stop())
	}
	if s.API != nil {
		errs = append(errs, s.API.Process.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}

// CreateEndpoints says of every BMC what a DHCP server would.
func (s *Site) CreateEndpoints(ctx context.Context) error {
	return Each(ctx, len(s.Rack.BMCs), func(ctx context.Context, i int) error {
		info := s.Rack.BMCs[i]
		endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
		endpoint.Spec.MACAddress, endpoint.Spec.IP = info.MAC, info.IP.String()
		if err := s.API.Create(ctx, endpoint); err != nil {
			return fmt.Errorf("create Endpoint %s: %w", info.Name, err)
		}
		return nil
	})
}

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMapList")

// Inspected counts the servers whose probe has reported, as cheaply as can be.
func (s *Site) Inspected(ctx context.Context) (int, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(configMaps)
	err := s.API.List(ctx, &list, client.InNamespace(Namespace), client.MatchingLabels{machinerecord.Label: machinerecord.KindInspection})
	if err != nil {
		return 0, fmt.Errorf("list records: %w", err)
	}
	return len(list.Items), nil
}

// Available counts the servers that are free for a claim.
func (a *API) Available(ctx context.Context) (n int, err error) {
	for next := ""; ; {
		var page metalv1.ServerList
		if err := a.List(ctx, &page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return 0, fmt.Errorf("list Servers: %w", err)
		}
		for i := range page.Items {
			if page.Items[i].Status.State == metalv1.ServerStateAvailable {
				n++
			}
		}
		if next = page.Continue; next == "" {
			return n, nil
		}
	}
}

// Await waits until count says at least n, asking every interval.
func (s *Site) Await(ctx context.Context, n int, every time.Duration, count func(context.Context) (int, error)) error {
	for {
		found, err := count(ctx)
		if err != nil || found >= n {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", found, n, ctx.Err())
		case <-s.Manager.Process.Exited():
			return s.Manager.Process.Err()
		case <-time.After(every):
		}
	}
}
