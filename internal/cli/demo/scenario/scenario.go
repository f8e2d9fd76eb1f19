package scenario

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Machine is a simulated machine as far as the scenario looks at it.
type Machine interface {
	PowerState() sim.PowerState
	Record() []sim.BootRecord
}

// Place is one server of the rack: the name that its BMC gets, and the machine behind it.
type Place struct {
	BMC     string
	UUID    string
	Machine Machine
	// Dial connects as the machine does, whose script is for it alone; nil: as anybody.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Disks looks at the disks of the machine; nil: it has none.
	Disks func() []Disk
}

// Lab is a running system with a rack, an image and nothing in its API yet.
type Lab struct {
	Client client.Client
	Config *rest.Config
	Scheme *runtime.Scheme
	Rack   []Place
	// CreateEndpoints makes the BMCs of the rack known.
	CreateEndpoints func(context.Context) error
	// Image is what claims ask for.
	Image string
	// Layers tells the digests of the layers of Image, as its registry has them.
	Layers func(context.Context) (Layers, error)
	// IgnitionKey is the key of the ignition Secrets under which the ignition is stored.
	IgnitionKey string
	// BootURL is the base URL of the boot server.
	BootURL string
	// Hint is a command that shows what is in the API.
	Hint string
}

// Options say what to do.
type Options struct {
	// Start brings the lab up.
	Start func(context.Context) (*Lab, error)
	// Servers is how many the rack will have, Claims how many of them are claimed.
	Servers, Claims int
	// Grace is DefaultGrace, but in tests.
	Grace time.Duration
	// Patience multiplies the time that each step may take; less than 1 counts as 1.
	Patience float64
	Clock    clock.WithTicker
}

// Scenario is one run.
type Scenario struct {
	options Options
	clock   clock.WithTicker
	world   *World
	http    *http.Client
	start   time.Time
	all     []step
	stop    func() // ends the watches and waits for it

	// What follows is read by the picture while the scenario runs.
	mu         sync.Mutex
	lab        *Lab
	claims     []*claimed
	current    *step
	number     int
	have, want int
	steps      []show.Step
	failed     string
	ended      time.Time
	booted     time.Duration
}

// New prepares a run that begins now.
func New(o Options) *Scenario {
	s := &Scenario{
		options: o, clock: o.Clock, world: NewWorld(o.Clock), start: o.Clock.Now(), stop: func() {},
		http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	s.all = s.script()
	for i := range s.all {
		s.all[i].budget = time.Duration(float64(s.all[i].budget) * max(1, s.options.Patience))
	}
	return s
}

// Start is when the run began.
func (s *Scenario) Start() time.Time { return s.start }

// Changed and Transitions make a Scenario a show.Source, with Frame.
func (s *Scenario) Changed() <-chan struct{} { return s.world.Changed() }

// Transitions are all that happened so far but for the first n.
func (s *Scenario) Transitions(n int) []show.Transition { return s.world.Transitions(n) }

// Run takes all steps. Its error is a *Failure.
func (s *Scenario) Run(ctx context.Context) error {
	defer func() { s.stop() }()
	for i := range s.all {
		if err := s.run(ctx, &s.all[i]); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return nil
}

// The names of the steps. They are part of what the demo says, in errors and in JSON.
const (
	stepSystem     = "system started"
	stepEndpoints  = "endpoints created"
	stepConnected  = "BMCs connected"
	stepFound      = "servers found"
	stepDiscovered = "servers discovered"
	stepClaimed    = "claims created"
	stepBound      = "claims bound"
	stepReady      = "boot configurations ready"
	stepBooted     = "machines booted"
	stepVerified   = "files verified"
	stepDeleted    = "claims deleted"
	stepOff        = "machines powered off"
	stepCleaned    = "servers cleaned"
	stepWiped      = "disks wiped"
	stepAvailable  = "servers available again"
)

// script lists the steps. Budgets are for a machine of two cores that does this alone, several times over.
func (s *Scenario) script() []step {
	each := func(base, more time.Duration, n int) time.Duration { return base + time.Duration(n)*more }
	servers := func(base, more time.Duration) time.Duration { return each(base, more, s.options.Servers) }
	claims := func(base, more time.Duration) time.Duration { return each(base, more, s.options.Claims) }
	return []step{
		{name: stepSystem, means: "Farrier starts: its Kubernetes API, a boot server, and a simulated rack.", budget: 60 * time.Second, do: s.startLab},
		{name: stepEndpoints, means: "The addresses of the BMCs become known, as DHCP would tell them.", budget: servers(15*time.Second, 50*time.Millisecond), do: func(ctx context.Context) error { return s.lab.CreateEndpoints(ctx) }, check: s.endpointsExist},
		{name: stepConnected, means: "Farrier logs in to each BMC over Redfish.", budget: servers(30*time.Second, 500*time.Millisecond), check: s.bmcsConnected},
		{name: stepFound, means: "Each BMC lists its server: UUID, model, power.", budget: servers(30*time.Second, 500*time.Millisecond), check: s.serversFound},
		{name: stepDiscovered, means: "Each server boots a probe, which reports processors, disks and network cards.", budget: servers(60*time.Second, 2*time.Second), check: s.serversDiscovered},
		{name: stepClaimed, means: "Somebody claims a server: with an image, and an ignition in a Secret.", budget: claims(15*time.Second, 100*time.Millisecond), do: s.createClaims},
		{name: stepBound, means: "Farrier gives each claim a server that fits.", budget: claims(20*time.Second, 500*time.Millisecond), check: s.claimsBound, then: s.rememberServers},
		{name: stepReady, means: "Farrier looks the image up in its registry, and prepares the boot.", budget: claims(30*time.Second, 500*time.Millisecond), check: s.configsReady},
		{name: stepBooted, means: "The machine is switched on, and boots the image over the network.", budget: claims(60*time.Second, 2*time.Second), check: s.machinesBooted, then: s.rememberBoot},
		{name: stepVerified, means: "What the machine got is compared with the image and the Secret.", budget: claims(15*time.Second, 100*time.Millisecond), do: s.verify},
		{name: stepDeleted, means: "The claim is deleted. Nobody gets the server before its disks are wiped.", budget: claims(20*time.Second, 200*time.Millisecond), do: s.deleteClaims, check: s.claimsGone},
		{name: stepOff, means: "Farrier shuts the machine down.", budget: claims(30*time.Second, time.Second), check: s.machinesOff},
		{name: stepCleaned, means: "The probe boots once more, and wipes every disk.", budget: claims(30*time.Second, 500*time.Millisecond), check: s.serversCleaned},
		{name: stepWiped, means: "The disks are looked at: nothing of the claim may be left.", budget: claims(60*time.Second, time.Second), do: s.disksWiped},
		{name: stepAvailable, means: "The server is off, clean, and ready for the next claim.", budget: claims(30*time.Second, 500*time.Millisecond), check: s.serversAvailable},
	}
}

// startLab brings the system up and begins to watch it.
func (s *Scenario) startLab(ctx context.Context) error {
	lab, err := s.options.Start(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.lab = lab
	s.mu.Unlock()
	if lab.Config == nil { // somebody else fills the world
		return nil
	}
	// The watches outlive this step; until they have begun, they end with it.
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	letGo := context.AfterFunc(ctx, cancel)
	wait, err := Watch(watching, lab.Config, lab.Scheme, s.world)
	letGo()
	if err != nil {
		cancel()
		return fmt.Errorf("watch the system: %w", err)
	}
	s.stop = func() {
		cancel()
		wait()
	}
	return nil
}
