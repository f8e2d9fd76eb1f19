package consoletarget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcssh"
	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// refusedPause is how long credentials that an SSH server refused are not told it again: as the fleet does with Redfish.
const refusedPause = 10 * time.Minute

// Observer tells what a BMC last said. It is a fleet.Fleet.
type Observer interface {
	Observe(key fleet.Key) (fleet.Observation, bool)
}

// Resolver opens the consoles of Servers.
type Resolver struct {
	Client client.Reader
	// APIReader reads credentials, which are not kept in caches.
	APIReader client.Reader
	// Namespace is the manager's own: Secrets there may hold credentials.
	Namespace string
	Fleet     Observer
	Clock     clock.PassiveClock

	mu      sync.Mutex
	refused map[string]refusal
}

// refusal is what an SSH server did not take, and when.
type refusal struct {
	credentials bmc.Credentials
	at          time.Time
}

// found is how a BMC is reached.
type found struct {
	name        string
	endpoint    bmc.Endpoint
	credentials bmc.Credentials
	secret      *metalv1.BMCSecret
	object      *metalv1.BMC // nil: the BMC is inline
}

// Open implements console.Open.
func (r *Resolver) Open(ctx context.Context, server string) (console.Stream, error) {
	target, err := r.Target(ctx, server)
	if err != nil {
		return nil, err
	}
	address := target.SSH.Address()
	if err := r.mayTell(address, target); err != nil {
		return nil, err
	}
	stream, err := console.OpenSSH(ctx, target)
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, bmcssh.ErrRefused) {
		if r.refused == nil {
			r.refused = map[string]refusal{}
		}
		r.refused[address] = refusal{target.SSH.Credentials, r.Clock.Now()}
	} else if err == nil {
		delete(r.refused, address)
	}
	return stream, err
}

// mayTell reports why an SSH server is not told the password again yet.
func (r *Resolver) mayTell(address string, t console.Target) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, known := range r.refused {
		if r.Clock.Since(known.at) >= refusedPause {
			delete(r.refused, at)
		}
	}
	if known, ok := r.refused[address]; ok && known.credentials == t.SSH.Credentials {
		return refuse(console.ReasonPasswordRefused, "BMC %s: its SSH server refused this password; Farrier tells it again after %s, because accounts lock",
			t.BMC, known.at.Add(refusedPause).UTC().Format(time.RFC3339))
	}
	return nil
}

func refuse(reason, format string, values ...any) error {
	return &console.Refusal{Reason: reason, Err: fmt.Errorf(format, values...)}
}

// Target is the console of a Server.
func (r *Resolver) Target(ctx context.Context, name string) (console.Target, error) {
	var server metalv1.Server
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &server); apierrors.IsNotFound(err) {
		return console.Target{}, refuse(console.ReasonNotFound, "there is no Server %q", name)
	} else if err != nil {
		return console.Target{}, fmt.Errorf("Server %q: %w", name, err)
	}
	f, err := r.find(ctx, &server)
	if err != nil {
		return console.Target{}, fmt.Errorf("BMC %s: %w", f.name, terminal(err))
	}
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	if rotates, err := secrets.Rotates(ctx, f.secret); err != nil {
		return console.Target{}, fmt.Errorf("BMC %s: %w", f.name, err)
	} else if rotates {
		return console.Target{}, refuse(console.ReasonPasswordRefused, "BMC %s: its password is about to be replaced, so its SSH server is not told the old one", f.name)
	}
	observation, known := r.Fleet.Observe(fleet.Key(f.endpoint.Key()))
	if !known {
		observation = said(f.object)
	}
	if err := trusted(f, observation); err != nil {
		return console.Target{}, err
	}
	t := console.Target{BMC: f.name, SSH: bmcssh.Target{Host: f.endpoint.Host, Credentials: f.credentials}}
	t.Vendor = bmc.VendorOf(observation.Manager.Manufacturer, string(observation.Manager.Vendor))
	if at, _ := connection.SystemOf(&server, observation.Systems); at >= 0 {
		system := &observation.Systems[at]
		t.Shown = system.Console
		t.Vendor = bmc.VendorOf(string(t.Vendor), string(system.Vendor), system.Manufacturer)
	}
	if f.object == nil {
		t.SSH.HostKey = server.Annotations[metalv1.AnnotationSSHHostKey]
		return t, nil
	}
	t.SSH.HostKey = f.object.Annotations[metalv1.AnnotationSSHHostKey]
	t.Vendor = bmc.VendorOf(string(t.Vendor), f.object.Annotations[metalv1.AnnotationMake], f.object.Status.Manufacturer)
	if c := f.object.Spec.ConsoleProtocol; c != nil {
		t.SSH.Port, t.IPMI = 0, c.Name == metalv1.ConsoleProtocolIPMI
		if t.Wish.SSH = !t.IPMI; t.Wish.SSH {
			t.Port = int(c.Port)
		}
		if c.Name == metalv1.ConsoleProtocolSSHLenovo {
			t.Vendor = bmc.Lenovo
		}
	}
	return t, nil
}

// terminal has an error that needs a person end the console.
func terminal(err error) error {
	if reconcileerror.IsTransient(err) {
		return err
	}
	return &console.Refusal{Reason: console.ReasonNoConsole, Err: err}
}

func (r *Resolver) find(ctx context.Context, server *metalv1.Server) (f found, err error) {
	secrets := connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}
	if inline := server.Spec.BMC; inline != nil {
		f.name = inline.Address
		if f.endpoint, err = connection.Endpoint(inline.Address, inline.Protocol); err != nil {
			return f, err
		}
		f.secret, f.credentials, err = secrets.Read(ctx, inline.BMCSecretRef.Name)
		return f, err
	}
	if server.Spec.BMCRef == nil {
		return f, refuse(console.ReasonNoConsole, "Server %s names no BMC", server.Name)
	}
	f.name, f.object = server.Spec.BMCRef.Name, &metalv1.BMC{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: f.name}, f.object); err != nil {
		return f, err
	}
	target, err := connection.Resolve(ctx, r.Client, secrets, f.object)
	f.endpoint, f.credentials, f.secret = target.Endpoint, target.Credentials, target.Secret
	return f, err
}

// said is what the status of a BMC tells of it, where this process does not look after it: another manager does, or this one has just begun.
func said(object *metalv1.BMC) (o fleet.Observation) {
	if object == nil {
		return o
	}
	ready := apimeta.FindStatusCondition(object.Status.Conditions, metalv1.ConditionReady)
	switch {
	case ready == nil:
	case ready.Status == metav1.ConditionTrue:
		o.Sequence = 1
	case ready.Reason == metalv1.ReasonAuthenticationFailed:
		o.Sequence, o.Err = 1, &bmc.Error{Kind: bmc.KindAuthentication, Message: ready.Message}
	case ready.Reason == metalv1.ReasonUntrusted:
		o.Sequence, o.Err = 1, &bmc.Error{Kind: bmc.KindUntrusted, Message: ready.Message}
	}
	return o
}

// trusted reports why the BMC must not be told the password: Redfish has refused it, or whoever answers there may be another, or it is a default one that
// the BMC has not taken yet.
func trusted(f found, o fleet.Observation) error {
	switch kind := bmc.KindOf(o.Err); {
	case o.Err != nil && kind == bmc.KindAuthentication:
		return refuse(console.ReasonPasswordRefused, "BMC %s: its Redfish service refuses the password, so its SSH server is not told it: %w", f.name, o.Err)
	case o.Err != nil && kind == bmc.KindUntrusted:
		return refuse(console.ReasonHostKey, "BMC %s: its certificate is not trusted, so no password is sent: %w", f.name, o.Err)
	}
	trial, err := bmcsecret.Parse(f.secret.Annotations[metalv1.AnnotationDefaultCredentials])
	tried := err == nil && trial.Outcome != bmcsecret.Accepted && (f.object == nil || f.object.Annotations[metalv1.AnnotationCredentialsAccepted] == "")
	if tried && o.Sequence == 0 {
		return refuse(console.ReasonPasswordRefused, "BMC %s: it is not known yet whether it takes the default password", f.name)
	}
	return nil
}
