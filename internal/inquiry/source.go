package inquiry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// ErrNotFound says that nothing has a name.
var ErrNotFound = errors.New("there is no Server, no ServerClaim and no BMC of that name")

// Source is where facts are read from.
type Source struct {
	API client.Reader
	// Boots and Unknown ask the operator address.
	Boots   func(ctx context.Context, uuid string) (operator.Boots, error)
	Unknown func(ctx context.Context) ([]operator.UnknownMachine, error)
	Logbook func(ctx context.Context, name string) ([]logbook.Entry, error)
	// Manager is the manager's namespace, and Namespace that of a claim that is named without one.
	Manager, Namespace string
	// Key derives the IDs of configs, which nobody sees here.
	Key []byte
}

// Read gathers the facts about the Server, the claim, the BMC, the MAC address or the UUID of that name.
func (s Source) Read(ctx context.Context, asked string) (*diagnosis.Facts, error) {
	f := &diagnosis.Facts{Asked: asked}
	var err error
	uuid, isUUID := operator.UUID(asked)
	mac, noMAC := identity.MAC(asked)
	switch {
	case isUUID || noMAC == nil:
		err = s.machine(ctx, f, uuid, mac)
	default:
		err = s.named(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	if f.Server != nil {
		s.server(ctx, f)
	}
	s.assignments(ctx, f)
	return f, nil
}

// named finds a Server, a claim or a BMC, in this order. A name with a slash is a claim's.
func (s Source) named(ctx context.Context, f *diagnosis.Facts) error {
	namespace, name, slash := strings.Cut(f.Asked, "/")
	if !slash {
		namespace, name = s.Namespace, f.Asked
	}
	server, claim, bmc := &metalv1.Server{}, &metalv1.ServerClaim{}, &metalv1.BMC{}
	for _, look := range []struct {
		key   client.ObjectKey
		into  client.Object
		found func()
	}{
		{client.ObjectKey{Name: name}, server, func() { f.Server = server }},
		{client.ObjectKey{Namespace: namespace, Name: name}, claim, func() { s.claim(ctx, f, claim) }},
		{client.ObjectKey{Name: name}, bmc, func() { f.BMC = bmc }},
	} {
		if slash && look.key.Namespace == "" {
			continue
		}
		found, err := s.get(ctx, look.key, look.into)
		if err != nil {
			return err
		}
		if found {
			look.found()
			return nil
		}
	}
	return fmt.Errorf("%w: %q", ErrNotFound, f.Asked)
}

// claim adds the Server that a claim has, or all Servers, of which it has none.
func (s Source) claim(ctx context.Context, f *diagnosis.Facts, claim *metalv1.ServerClaim) {
	f.Claim = claim
	if ref := claim.Spec.ServerRef; ref != nil {
		server := &metalv1.Server{}
		found, err := s.get(ctx, client.ObjectKey{Name: ref.Name}, server)
		if err != nil {
			f.NotRead = append(f.NotRead, err.Error())
		}
		if by := server.Spec.ServerClaimRef; found && by != nil && by.Namespace == claim.Namespace && by.Name == claim.Name {
			f.Server = server
		}
	}
	if f.Server == nil {
		s.servers(ctx, f)
	}
}

// get reports whether an object exists.
func (s Source) get(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	err := s.API.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("--kubeconfig: %w", err)
	}
	return true, nil
}

func (s Source) servers(ctx context.Context, f *diagnosis.Facts) {
	var all metalv1.ServerList
	if err := s.API.List(ctx, &all); err != nil {
		f.NotRead = append(f.NotRead, fmt.Sprintf("Servers: %v", err))
		return
	}
	f.Servers = slices.Concat([]metalv1.Server{}, all.Items) // none is not unknown
}

// machine finds the Server of a UUID or a MAC address, or the BMC of a MAC address, and whether the machine was told that there is nothing for it.
func (s Source) machine(ctx context.Context, f *diagnosis.Facts, uuid, mac string) error {
	s.servers(ctx, f)
	for i := range f.Servers {
		if own, _ := operator.UUID(f.Servers[i].Spec.SystemUUID); uuid != "" && own == uuid || mac != "" && hasMAC(&f.Servers[i], mac) {
			f.Server = &f.Servers[i]
		}
	}
	if f.Server == nil && mac != "" {
		var bmcs metalv1.BMCList
		if err := s.API.List(ctx, &bmcs); err != nil {
			f.NotRead = append(f.NotRead, fmt.Sprintf("BMCs: %v", err))
		}
		for i := range bmcs.Items {
			if own, err := identity.MAC(bmcs.Items[i].Status.MACAddress); err == nil && own == mac {
				f.BMC = &bmcs.Items[i]
				return nil
			}
		}
	}
	unknown, err := s.Unknown(ctx)
	if err != nil {
		return err
	}
	for _, m := range unknown {
		own, err := identity.MAC(m.MAC)
		if uuid != "" && strings.EqualFold(m.UUID, uuid) || mac != "" && err == nil && own == mac {
			f.Unknown = append(f.Unknown, m)
		}
	}
	return nil
}

func hasMAC(server *metalv1.Server, mac string) bool {
	for _, n := range server.Status.NetworkInterfaces {
		if own, err := identity.MAC(n.MACAddress); err == nil && own == mac {
			return true
		}
	}
	return false
}

// server reads what a Server depends on.
func (s Source) server(ctx context.Context, f *diagnosis.Facts) {
	read := func(key client.ObjectKey, into client.Object) bool {
		found, err := s.get(ctx, key, into)
		if err != nil {
			f.NotRead = append(f.NotRead, err.Error())
		}
		return found
	}
	if ref := f.Server.Spec.BMCRef; ref != nil {
		if bmc := (&metalv1.BMC{}); read(client.ObjectKey{Name: ref.Name}, bmc) {
			f.BMC = bmc
		}
	}
	if ref := f.Server.Spec.ServerClaimRef; ref != nil && f.Claim == nil {
		if claim := (&metalv1.ServerClaim{}); read(client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim) {
			f.Claim = claim
		}
	}
	ref := f.Server.Spec.BootConfigurationRef
	if f.Server.Spec.ServerMaintenanceRef != nil {
		ref = f.Server.Spec.MaintenanceBootConfigurationRef
	}
	if ref != nil {
		if config := (&metalv1.ServerBootConfiguration{}); read(client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, config) {
			f.Config, f.OfProbe = config, ref.Namespace == s.Manager && ref.Name == f.Server.Name
		}
	}
	if uuid, ok := operator.UUID(f.Server.Spec.SystemUUID); ok {
		boots, err := s.Boots(ctx, uuid)
		if err != nil {
			f.NotRead = append(f.NotRead, fmt.Sprintf("the requests of the machine: %v", err))
		}
		f.Boots = boots.Boots
	}
	logged, err := s.Logbook(ctx, f.Server.Name)
	if err != nil {
		f.NotRead = append(f.NotRead, fmt.Sprintf("the logbook: %v", err))
	}
	f.Logged = logged
	if len(f.Boots) == 0 {
		f.Boots = operator.BootsOf(logged)
	}
}

// assignments finds those that select the machine.
func (s Source) assignments(ctx context.Context, f *diagnosis.Facts) {
	subject, named := subjectOf(f)
	if !named || f.Config != nil {
		return
	}
	view, _, err := ipxeapi.Snapshot(ctx, s.API, s.Key)
	if err != nil {
		f.NotRead = append(f.NotRead, fmt.Sprintf("Assignments: %v", err))
		return
	}
	f.Candidates = view.Candidates(subject)
}

// subjectOf is the machine as it would name itself.
func subjectOf(f *diagnosis.Facts) (assignment.Subject, bool) {
	m := operator.UnknownMachine{}
	switch {
	case len(f.Unknown) > 0:
		m = f.Unknown[0]
	case f.Server != nil:
		m.UUID, m.Serial = f.Server.Spec.SystemUUID, f.Server.Status.SerialNumber
		if n := f.Server.Status.NetworkInterfaces; len(n) > 0 {
			m.MAC = n[0].MACAddress
		}
	case f.Claim == nil && f.BMC == nil:
		m.UUID, _ = operator.UUID(f.Asked)
		if mac, err := identity.MAC(f.Asked); err == nil {
			m.MAC = mac
		}
	}
	values := map[string][]string{}
	for key, value := range map[string]string{assignment.KeyUUID: m.UUID, assignment.KeyMAC: m.MAC, assignment.KeySerial: m.Serial} {
		if value != "" {
			values[key] = []string{value}
		}
	}
	subject, err := assignment.NewSubject(values)
	return subject, err == nil && len(values) > 0
}
