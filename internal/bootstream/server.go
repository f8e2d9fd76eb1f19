package bootstream

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/printable"
)

// Minor is the version of the protocol within v1. Both ends say theirs; neither refuses another.
const Minor = 0

const (
	// DefaultHeartbeat is how often a boot server hears that it has everything.
	DefaultHeartbeat = 10 * time.Second
	// DefaultSecretsFor is how long a boot server that hears nothing goes on serving what is secret: longer than an upgrade of a cluster.
	DefaultSecretsFor = 24 * time.Hour

	// mostRecords and mostBytes bound one message of changes. A record may be larger: an ignition payload has up to some megabytes.
	mostRecords, mostBytes = 1024, 512 << 10
	// pace is how often changes are sent to a follower at most, so that what changes at about the same time goes together: a message costs
	// both ends more than a record. What comes after a pause is sent at once.
	pace = 5 * time.Millisecond
	// MaxMessage is the longest message of either end, in bytes.
	MaxMessage = 16 << 20
)

// Peer is the boot server at the other end of a connection, as its certificate says.
type Peer struct {
	// Name is that of the certificate; Site is what the manager has for that name.
	Name, Site string
}

// Receiver takes what boot servers tell. Its errors reach them as Unavailable: they keep the message and come again.
type Receiver interface {
	Tell(context.Context, Peer, *streampb.TellRequest) error
	Store(context.Context, Peer, *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error)
}

// ServerOptions are what a Server is made of. Journal, Identify and Receiver are required.
type ServerOptions struct {
	Journal *Journal
	// Identify says who is at the other end; its error refuses the call.
	Identify func(context.Context) (Peer, error)
	Receiver Receiver
	// Ready says why boot servers are to follow another manager: the journal does not have everything there is, say. nil: they never are.
	Ready func() error
	// Changed returns a channel that is closed when Ready may say something else; nil: never. Who follows a server that is not ready any longer is
	// sent away.
	Changed func() <-chan struct{}
	// Observed is the newest resource version of each kind that the journal was made of; nil: none.
	Observed func() map[string]uint64
	// Reached is told of keys that somebody has asked about with Reach once a follower of their site has acknowledged or refused them, and of every
	// key that is refused or whose image cannot be fetched, or no longer. It must not block.
	Reached func(keys []string)

	Heartbeat, SecretsFor time.Duration // zero: the defaults
	Clock                 clock.WithTicker
	Logger                logr.Logger
}

// Server serves a journal to boot servers. It implements the service BootStream.
type Server struct {
	streampb.UnimplementedBootStreamServer
	o ServerOptions

	mu        sync.Mutex
	followers map[*following]struct{}
	awaited   awaited
}

// NewServer fills in what options leave out.
func NewServer(o ServerOptions) *Server {
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Changed == nil {
		o.Changed = func() <-chan struct{} { return nil }
	}
	if o.Observed == nil {
		o.Observed = func() map[string]uint64 { return nil }
	}
	if o.Reached == nil {
		o.Reached = func([]string) {}
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.SecretsFor == 0 {
		o.SecretsFor = DefaultSecretsFor
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Server{o: o, followers: map[*following]struct{}{}}
}

// following is one boot server that follows. Server.mu guards what acknowledgements change.
type following struct {
	peer     Peer
	instance string
	minor    uint32
	since    time.Time

	acked   uint64
	refused map[string]*streampb.Refusal
	health  *streampb.Health
	// unfetched are why images cannot be fetched, by the keys of their records; heard is when the follower said so last.
	unfetched map[string]string
	heard     time.Time
	lag       lag
}

var errNoHello = status.Error(codes.InvalidArgument, "the first message of a follower is a Hello")

// Follow implements the service.
func (s *Server) Follow(stream streampb.BootStream_FollowServer) error {
	peer, err := s.o.Identify(stream.Context())
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return errNoHello
	}
	if err := s.o.Ready(); err != nil {
		return unavailable(err)
	}
	instance := printable.Short(hello.Instance, mostReason)
	f := &following{peer: peer, instance: instance, minor: hello.Minor, since: s.o.Clock.Now(), refused: map[string]*streampb.Refusal{}}
	logger := s.o.Logger.WithValues("bootServer", peer.Name, "instance", instance, "site", peer.Site)
	s.join(f)
	defer s.leave(f)
	heard := make(chan error, 1)
	go func() { heard <- s.listen(stream, f) }()
	logger.V(1).Info("boot server follows", "minor", hello.Minor)
	err = s.send(stream, f, hello, heard)
	logger.V(1).Info("boot server left", "error", err)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// send sends what the follower lacks, and then what changes, until it leaves.
func (s *Server) send(stream streampb.BootStream_FollowServer, f *following, hello *streampb.Hello, heard <-chan error) error {
	w := walk{site: f.peer.Site}
	snapshot := !s.o.Journal.Resumes(hello.Held)
	if snapshot {
		w.fresh = s.o.Journal.Counter()
	} else {
		w.position = hello.Held.Counter
	}
	welcome := &streampb.Welcome{
		Minor: Minor, Epoch: s.o.Journal.Epoch(), Site: f.peer.Site, Snapshot: snapshot, Observed: s.o.Observed(), Heartbeat: durationpb.New(s.o.Heartbeat),
	}
	if err := stream.Send(&streampb.FollowResponse{Kind: &streampb.FollowResponse_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	ticker := s.o.Clock.NewTicker(s.o.Heartbeat)
	defer ticker.Stop()
	// The first Current ends the snapshot, or says that nothing was missed.
	due := true
	for {
		changed := s.o.Changed()
		if err := s.o.Ready(); err != nil {
			return unavailable(err)
		}
		walked := s.o.Clock.Now()
		b := s.o.Journal.next(&w, mostRecords, mostBytes)
		switch {
		case b.gap:
			if err := stream.Send(&streampb.FollowResponse{Kind: &streampb.FollowResponse_Gap{Gap: &streampb.Gap{}}}); err != nil {
				return err
			}
			w, due = walk{site: f.peer.Site, fresh: s.o.Journal.Counter()}, true
			continue
		case len(b.records) > 0:
			s.sending(f, b.last, walked)
			if err := stream.Send(&streampb.FollowResponse{Kind: &streampb.FollowResponse_Changes{Changes: &streampb.Changes{Records: b.records}}}); err != nil {
				return err
			}
		}
		if due && w.position >= w.fresh {
			if err := s.current(stream, w.position); err != nil {
				return err
			}
			due = false
		}
		if b.changed == nil {
			continue
		}
		select {
		case <-b.changed:
		case <-changed:
			continue
		case <-ticker.C():
			due = true
			continue
		case err := <-heard:
			return err
		}
		if early := pace - s.o.Clock.Since(walked); early > 0 {
			select {
			case <-s.o.Clock.After(early):
			case err := <-heard:
				return err
			}
		}
	}
}

func (s *Server) current(stream streampb.BootStream_FollowServer, position uint64) error {
	return stream.Send(&streampb.FollowResponse{Kind: &streampb.FollowResponse_Current{Current: &streampb.Current{
		Counter: position, Observed: s.o.Observed(), SecretsFor: durationpb.New(s.o.SecretsFor),
	}}})
}

// listen takes acknowledgements and health until the follower leaves.
func (s *Server) listen(stream streampb.BootStream_FollowServer, f *following) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		switch kind := m.Kind.(type) {
		case *streampb.FollowRequest_Ack:
			s.acknowledged(f, kind.Ack)
		case *streampb.FollowRequest_Health:
			s.healthy(f, kind.Health)
		}
	}
}

func (s *Server) join(f *following) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers[f] = struct{}{}
}

func (s *Server) leave(f *following) {
	s.mu.Lock()
	delete(s.followers, f)
	told := slices.AppendSeq(slices.Collect(maps.Keys(f.refused)), maps.Keys(f.unfetched))
	s.mu.Unlock()
	s.tell(told)
}

// BootServer is what is known of a boot server that follows.
type BootServer struct {
	Peer     Peer
	Instance string
	Minor    uint32
	Since    time.Time
	// Acked is the counter up to which it has everything; Refused are records that it cannot use, by key.
	Acked   uint64
	Refused map[string]*streampb.Refusal
	// Behind is since when it has not acknowledged what it was sent; zero: it has everything.
	Behind time.Time
	// Health is what it said last; nil: nothing yet.
	Health *streampb.Health
}

// BootServers returns those that follow now.
func (s *Server) BootServers() []BootServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]BootServer, 0, len(s.followers))
	for f := range s.followers {
		all = append(all, BootServer{
			Peer: f.peer, Instance: f.instance, Minor: f.minor, Since: f.since, Acked: f.acked, Refused: maps.Clone(f.refused), Behind: f.lag.since,
			Health: f.health,
		})
	}
	return all
}

// Tell implements the service.
func (s *Server) Tell(ctx context.Context, r *streampb.TellRequest) (*streampb.TellResponse, error) {
	peer, err := s.o.Identify(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.o.Ready(); err != nil {
		return nil, unavailable(err)
	}
	if err := s.o.Receiver.Tell(ctx, peer, r); err != nil {
		return nil, unavailable(err)
	}
	return &streampb.TellResponse{}, nil
}

// Store implements the service.
func (s *Server) Store(ctx context.Context, r *streampb.StoreRequest) (*streampb.StoreResponse, error) {
	peer, err := s.o.Identify(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := s.o.Receiver.Store(ctx, peer, r)
	if err != nil {
		return nil, unavailable(err)
	}
	return &streampb.StoreResponse{Outcome: outcome}, nil
}

// unavailable keeps a status that the error has.
func unavailable(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, err.Error())
}
