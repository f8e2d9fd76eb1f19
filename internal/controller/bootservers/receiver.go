package bootservers

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

// Delivery is what controllers do with what machines were given; bootdelivery.Delivery does it.
type Delivery interface {
	Delivered(bootview.Delivery)
	Alarmed(bootview.Alarm)
	Bind(entry, session string, c bootview.Caller, proven bool)
}

// Options are what a Receiver is made of.
type Options struct {
	View     *bootview.View
	Delivery Delivery
	History  *bootview.History
	Unknown  *bootview.UnknownMachines
	Intake   *reportintake.Intake
	// Leased is told of clients of the DHCP of boot servers, and may not wait; nil: nobody is.
	Leased func(dhcp.Sighting)
	// Early has the BMC of a Server asked soon.
	Early func(server string)
	// Servers reads Servers from a cache, and SiteOf is where the machine of one stands, as far as the boot view tells sites apart.
	Servers client.Reader
	SiteOf  func(*metalv1.Server) string
	// Anonymous says that reports without a token are taken.
	Anonymous bool
	Clock     clock.PassiveClock
	Logger    logr.Logger
}

// Receiver takes what boot servers tell. It implements bootstream.Receiver.
type Receiver struct {
	Options
	seen    bootstream.Seen
	metrics *metrics
	// foreign are the lines of the log about boot servers that speak for others.
	foreign *ratelimit.Lines
}

// New makes a Receiver.
func New(o Options) *Receiver {
	if o.Leased == nil {
		o.Leased = func(dhcp.Sighting) {}
	}
	return &Receiver{Options: o, metrics: newMetrics(), foreign: ratelimit.NewLines(1, sayEvery, o.Logger, o.Clock)}
}

// errUnsynced has a boot server come again.
var errUnsynced = status.Error(codes.Unavailable, "the boot view is not complete yet")

// Tell implements bootstream.Receiver.
func (r *Receiver) Tell(ctx context.Context, from bootstream.Peer, m *streampb.TellRequest) error {
	if !r.View.Synced() {
		return errUnsynced
	}
	return r.seen.Once(ctx, from.Name, m.Instance, m.Number, func() error {
		t := &telling{Receiver: r, ctx: ctx, from: from, now: r.Clock.Now()}
		// Who boots comes first: what follows from a delivery is written down together with it.
		for _, b := range m.Bindings {
			t.binding(b)
		}
		for _, a := range m.Alarms {
			t.alarm(a)
		}
		for _, server := range m.Early {
			t.early(server)
		}
		for _, d := range m.Deliveries {
			t.delivery(d)
		}
		for _, s := range m.Sightings {
			t.sighting(s)
		}
		for _, l := range m.Leases {
			t.lease(l)
		}
		return t.err
	})
}

// Store implements bootstream.Receiver.
func (r *Receiver) Store(ctx context.Context, from bootstream.Peer, m *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error) {
	if m.Attempt == "" && !r.Anonymous {
		return 0, status.Error(codes.PermissionDenied, "a report without a boot attempt is taken with --allow-unauthenticated-probe only")
	}
	intake := *r.Intake
	foreign := false
	intake.Speaks = func(s *metalv1.Server) bool {
		speaks := r.SiteOf(s) == from.Site
		foreign = foreign || !speaks
		return speaks
	}
	var err error
	switch kind := m.Kind.(type) {
	case *streampb.StoreRequest_Registration:
		err = r.register(ctx, &intake, kind.Registration, m)
	case *streampb.StoreRequest_BootState:
		err = r.bootState(ctx, &intake, kind.BootState, m)
	default:
		err = status.Error(codes.Unimplemented, "a message of this kind is not known to this manager")
	}
	switch {
	case err == nil:
		return streampb.StoreResponse_OUTCOME_STORED, nil
	case errors.Is(err, inspection.ErrTooLarge):
		return streampb.StoreResponse_OUTCOME_TOO_LARGE, nil
	case errors.Is(err, inspection.ErrUnknownMachine):
		if foreign {
			r.refuse(from, "report")
		}
		return streampb.StoreResponse_OUTCOME_UNKNOWN_MACHINE, nil
	case errors.Is(err, inspection.ErrMalformed):
		return 0, status.Error(codes.InvalidArgument, err.Error())
	}
	r.Logger.Info("probe report not stored", "bootServer", from.Name, "site", from.Site, "attempt", clip(m.Attempt), "error", err)
	return 0, err
}

// maxReport bounds a report; boot servers have the same limit.
const maxReport = 4 << 20

func (r *Receiver) register(ctx context.Context, intake *reportintake.Intake, body []byte, m *streampb.StoreRequest) error {
	reg, err := inspection.Decode(bytes.NewReader(body), maxReport)
	if err != nil {
		return err
	}
	reg.Attempt, reg.Contested = m.Attempt, clip(m.Contested)
	return intake.Register(ctx, reg)
}

func (r *Receiver) bootState(ctx context.Context, intake *reportintake.Intake, body []byte, m *streampb.StoreRequest) error {
	state, err := inspection.DecodeBootState(bytes.NewReader(body), maxReport)
	if err != nil {
		return err
	}
	state.Attempt = m.Attempt
	return intake.BootState(ctx, state)
}
