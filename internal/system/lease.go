package system

import (
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/leadership"
)

// How long a Lease is valid, how long its holder tries to renew it before it stops acting, and how often everybody asks. The rest of the first after
// the second is what a term has for its end.
const (
	leaseDuration = leadership.PauseTakes
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// leaseName is the Lease in the manager's namespace that the one process that acts holds. One that only delivers boots
// does not take turns with one that looks after servers.
func (s *System) leaseName() string {
	if s.settings.foreignLifecycle {
		return s.settings.filter.Named(leadership.BootLease)
	}
	return s.settings.filter.Named(leadership.Lease)
}

// newLock returns the Lease as a lock. Its identity is one of the process, so that a process gets a lease back at once that it has lost and that
// nobody else has taken.
func (s *System) newLock(config *rest.Config) (resourcelock.Interface, error) {
	config = rest.CopyConfig(config)
	config.Timeout = renewDeadline / 2 // so that one request that hangs does not cost the lease
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the Lease: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this host: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: s.settings.ManagerNamespace, Name: s.leaseName()},
		Client:     &leases{LeasesGetter: client, contact: &s.contact, leadership: &s.leadership, address: s.streamAddress},
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}

// leases adds to a lock's requests what Farrier has in the Lease, and what it learns from the answers.
type leases struct {
	coordinationclient.LeasesGetter
	contact    *contact
	leadership *leadership.Leadership
	// address is where this process serves the boot stream; empty: nowhere.
	address string
}

func (l *leases) Leases(namespace string) coordinationclient.LeaseInterface {
	return &leaseClient{LeaseInterface: l.LeasesGetter.Leases(namespace), leases: l}
}

type leaseClient struct {
	coordinationclient.LeaseInterface
	*leases
}

func (c *leaseClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := c.LeaseInterface.Get(ctx, name, o)
	return lease, c.learn(lease, err)
}

func (c *leaseClient) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.sign(lease)
	lease, err := c.LeaseInterface.Create(ctx, lease, o)
	return lease, c.learn(lease, err)
}

func (c *leaseClient) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	c.sign(lease)
	lease, err := c.LeaseInterface.Update(ctx, lease, o)
	return lease, c.learn(lease, err)
}

// sign writes into a Lease where its holder serves the boot stream. Whoever writes one is its holder, or releases it.
func (l *leases) sign(lease *coordinationv1.Lease) {
	address := l.address
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder == "" {
		address = ""
	}
	if address == "" {
		delete(lease.Annotations, metalv1.AnnotationBootStreamAddress)
		return
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[metalv1.AnnotationBootStreamAddress] = address
}

// learn notes who leads, and whether the API answers.
func (l *leases) learn(lease *coordinationv1.Lease, err error) error {
	if away(err) {
		l.contact.note("Lease", err)
		return err
	}
	l.contact.note("Lease", nil) // what the API says of the Lease, it has said
	switch {
	case err == nil:
		l.leadership.SetLeader(lease.Annotations[metalv1.AnnotationBootStreamAddress])
	case apierrors.IsNotFound(err):
		l.leadership.SetLeader("")
	}
	return err
}
