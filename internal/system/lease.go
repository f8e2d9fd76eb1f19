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
	"k8s.io/utils/ptr"

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
func (s *System) newLock(client coordinationclient.LeasesGetter, identity string) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: s.settings.ManagerNamespace, Name: s.leaseName()},
		Client:     &leases{LeasesGetter: client, contact: &s.contact, leadership: &s.leadership, divided: &s.divided, address: s.streamAddress, shards: s.settings.Shards},
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

// newIdentity is what this process is called in Leases.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this host: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// newLeases returns a client of the Leases in the manager's namespace. One request that hangs must not cost a Lease. Nor must all others that this
// process has sent, and the watches that it reads: a client with the same settings would share its one connection with them.
func newLeases(config *rest.Config) (coordinationclient.LeasesGetter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = renewDeadline / 2
	if config.Transport == nil && len(config.NextProtos) == 0 {
		config.NextProtos = []string{"http/1.1"}
	}
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the Lease: %w", err)
	}
	return client, nil
}

// leases adds to a lock's requests what Farrier has in the Lease, and what it learns from the answers.
type leases struct {
	coordinationclient.LeasesGetter
	contact    *contact
	leadership *leadership.Leadership
	divided    *divided
	// address is where this process serves the boot stream; empty: nowhere.
	address string
	// shards is into how many this process divides BMCs while it leads; 0: it has them all.
	shards int
}

func (l *leases) Leases(namespace string) coordinationclient.LeaseInterface {
	return &leaseClient{LeaseInterface: l.LeasesGetter.Leases(namespace), leases: l}
}

type leaseClient struct {
	coordinationclient.LeaseInterface
	*leases
}

func (c *leaseClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	from := time.Now()
	lease, err := c.LeaseInterface.Get(ctx, name, o)
	return lease, c.learn(lease, err, from)
}

func (c *leaseClient) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.sign(lease)
	from := time.Now()
	lease, err := c.LeaseInterface.Create(ctx, lease, o)
	return lease, c.learn(lease, err, from)
}

func (c *leaseClient) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	c.sign(lease)
	from := time.Now()
	lease, err := c.LeaseInterface.Update(ctx, lease, o)
	return lease, c.learn(lease, err, from)
}

// sign writes into a Lease where its holder serves the boot stream, and how it divides BMCs. Whoever writes one is its holder, or releases it: then the
// division stays, so that nothing has to be given up until the next one leads.
func (l *leases) sign(lease *coordinationv1.Lease) {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	address, division := l.address, lease.Annotations[metalv1.AnnotationShards]
	switch {
	case holder == "":
		address = ""
	case l.shards > 0:
		division = textOfDivision(l.shards, holder)
	default:
		division = ""
	}
	annotate(lease, metalv1.AnnotationBootStreamAddress, address)
	annotate(lease, metalv1.AnnotationShards, division)
}

// annotate sets an annotation, or removes it where the value is empty.
func annotate(lease *coordinationv1.Lease, key, value string) {
	if value == "" {
		delete(lease.Annotations, key)
		return
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, key, value)
}

// learn notes who leads, and whether the API answers, after a request that was sent at a time.
func (l *leases) learn(lease *coordinationv1.Lease, err error, from time.Time) error {
	if away(err) {
		l.contact.note("Lease", err)
		return err
	}
	l.contact.note("Lease", nil) // what the API says of the Lease, it has said
	switch {
	case err == nil:
		l.divided.learn(lease, from)
		l.leadership.SetLeader(lease.Annotations[metalv1.AnnotationBootStreamAddress])
	case apierrors.IsNotFound(err):
		l.leadership.SetLeader("")
	}
	return err
}
