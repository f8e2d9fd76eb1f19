package process

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/test/await"
)

// viewKey is the content of a key file.
const viewKey = "7d1f0c2b9a8e4d6f5c3b2a19080706f5e4d3c2b1a0f9e8d7c6b5a4938271605f"

const managerName = "manager.farrier.example"

// pki is an authority and what it has issued.
type pki struct {
	t   *testing.T
	dir *authority.Dir
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	dir, err := authority.Init(t.TempDir()+"/pki", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &pki{t, dir}
}

// folder is where the certificate of a name is, which is issued where there is none.
func (p *pki) folder(name string, role authority.Role) string {
	p.t.Helper()
	if _, err := p.dir.Issue(name, "", role, time.Now(), time.Hour); err != nil && !errors.Is(err, authority.ErrExists) {
		p.t.Fatal(err)
	}
	return p.dir.Folder(name)
}

// manager is the part of a manager that boot servers know: views that the stream is made of, and somebody who takes what comes back.
type manager struct {
	t        *testing.T
	view     *bootview.View
	profiles *profile.View
	server   *bootstream.Server
	source   *records.Source
	pins     *pins
	address  string
	stop     func()

	seen bootstream.Seen
	mu   sync.Mutex
	told []*streampb.TellRequest
	// stored are messages of probes; outcome and refuse say what becomes of them.
	stored  []*streampb.StoreRequest
	outcome streampb.StoreResponse_Outcome
	refuse  error
}

// pins are the images that somebody boots. They implement records.Pins.
type pins struct {
	pinned   func(owner string, pin registry.Pin)
	unpinned func(owner string)
}

func (p *pins) ObservePins(pinned func(owner string, pin registry.Pin), unpinned func(owner string)) {
	p.pinned, p.unpinned = pinned, unpinned
}

// Tell implements bootstream.Receiver, as a manager does: what is repeated counts once.
func (m *manager) Tell(ctx context.Context, from bootstream.Peer, r *streampb.TellRequest) error {
	return m.seen.Once(ctx, from.Name, r.GetInstance(), r.GetNumber(), func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.told = append(m.told, r)
		return nil
	})
}

// Store implements bootstream.Receiver.
func (m *manager) Store(_ context.Context, _ bootstream.Peer, r *streampb.StoreRequest) (streampb.StoreResponse_Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return 0, m.refuse
	}
	if m.outcome == streampb.StoreResponse_OUTCOME_STORED {
		m.stored = append(m.stored, r)
	}
	return m.outcome, nil
}

// deliveries are those that were told of, together by kind.
func (m *manager) deliveries() map[string]uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	by := map[string]uint32{}
	for _, r := range m.told {
		for _, d := range r.GetDeliveries() {
			by[d.GetKind()] += d.GetCount()
		}
	}
	return by
}

// bindings are those that were told of.
func (m *manager) bindings() (all []*streampb.Binding) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.told {
		all = append(all, r.GetBindings()...)
	}
	return all
}

// startManager starts one at an address, or at any free one, whose view was made of objects up to a resource version.
func (p *pki) startManager(address string, observed uint64, secretsFor time.Duration, entries ...bootview.Entry) *manager {
	p.t.Helper()
	names, err := peer.ParseTable([]string{"boot-1", "boot-2"})
	if err != nil {
		p.t.Fatal(err)
	}
	identity, err := peer.FromFiles(peer.In(p.folder(managerName, authority.Manager)), peer.Options{Logger: testr.New(p.t)})
	if err != nil {
		p.t.Fatal(err)
	}
	authorizer := peer.NewAuthorizer(identity, names)
	m := &manager{t: p.t, pins: &pins{}, view: bootview.New(), profiles: profile.NewView(clock.RealClock{}, nil)}
	journal := bootstream.NewJournal()
	source := records.NewSource(journal)
	m.source = source
	source.ObserveView(m.view)
	source.ObserveProfiles(m.profiles)
	source.ObservePins(m.pins)
	for _, e := range entries {
		m.view.Put(e)
	}
	m.server = bootstream.NewServer(bootstream.ServerOptions{
		Journal: journal, Receiver: m, Heartbeat: 50 * time.Millisecond, SecretsFor: secretsFor, Logger: testr.New(p.t),
		Identify: func(ctx context.Context) (bootstream.Peer, error) {
			who, err := authorizer.Peer(ctx)
			return bootstream.Peer{Name: who.Name, Site: who.Site}, err
		},
		Observed: func() map[string]uint64 { return map[string]uint64{"IPXEBootConfig": observed} },
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	m.address = listener.Addr().String()
	serving := grpc.NewServer(grpc.Creds(authorizer.Credentials()), grpc.MaxRecvMsgSize(bootstream.MaxMessage))
	streampb.RegisterBootStreamServer(serving, m.server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serving.Serve(listener)
	}()
	m.stop = sync.OnceFunc(func() {
		serving.Stop()
		<-served
	})
	p.t.Cleanup(m.stop)
	return m
}

// options are those of a boot server that follows managers, without anything of its own on disk but the cache.
func (p *pki) options(managers ...string) Options {
	o := DefaultOptions()
	o.Managers, o.ManagerName, o.CertificatesDir = managers, managerName, p.folder("boot-1", authority.BootServer)
	o.DataDir, o.BootAddress, o.HealthAddress, o.TrustedForwarders = p.t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", []string{"none"}
	o.BootURLs = []string{"http://boot.example:8082"}
	o.Logger = testr.New(p.t)
	return o
}

// running is a boot server in this process.
type running struct {
	*process
	t    *testing.T
	base string
	// stop ends it as a signal does, and returns what it ended with.
	stop func() error
}

func startBootServer(t *testing.T, o Options) *running {
	t.Helper()
	p, err := newProcess(&o, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(p.run(ctx), p.close()) }()
	b := &running{process: p, t: t, base: "http://" + p.listeners[0].Addr().String()}
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// answer is what a machine is told.
type answer struct {
	status int
	header http.Header
	body   string
}

// get asks as a machine would, and fails the test where nobody answers.
func (b *running) get(path string) answer { return ask(b.t, http.MethodGet, b.base+path, "") }

func (b *running) post(path, body string) answer { return ask(b.t, http.MethodPost, b.base+path, body) }

func ask(t *testing.T, method, url, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

const (
	uuid   = "9f2b4c1e-0d3a-4e5f-8a7b-1c2d3e4f5a6b"
	token  = "a-token-of-an-open-boot-attempt"
	secret = `{"ignition":{"version":"3.4.0"}}`
	entry  = "IPXEBootConfig/default/tenants"
)

// tenants is the entry of a machine that a tenant boots, made of objects of a resource version.
func tenants(t *testing.T, version uint64) bootview.Entry {
	t.Helper()
	attempt := bootview.Attempt{ID: "attempt", Token: token, Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		KernelURL: "http://images.example/kernel", InitrdURL: "http://images.example/initrd", Attempt: attempt,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bootview.Entry{
		Name: entry, UUID: uuid, Rank: bootview.Current, Version: version, Script: script,
		Ignition: &bootview.Ignition{Payload: []byte(secret), ContentType: "application/json"},
		Attempt:  attempt, Terms: bootview.Terms{Server: "server", Seen: time.Now().Add(-time.Minute)},
	}
}

// boots reports whether a machine gets script and ignition.
func (b *running) boots() bool {
	if a := b.get("/ipxe/" + uuid); a.status != http.StatusOK || !strings.Contains(a.body, "kernel ${kernel-url}") {
		return false
	}
	a := b.get("/ignition/" + uuid + "?token=" + token)
	return a.status == http.StatusOK && a.body == secret
}

// asProgram is the variable that has the test binary be farrier-bootserver.
const asProgram = "FARRIER_TEST_AS_BOOTSERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// child is a boot server in a process of its own.
type child struct {
	running
	cmd *exec.Cmd
	log *lines
}

// lines are what a child says.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var startedAt = regexp.MustCompile(`url=(http://127\.0\.0\.1:\d+)`)

// flags are those of a boot server with a certificate, a directory and a key of its own.
func (p *pki) flags(dir string, managers ...string) []string {
	p.t.Helper()
	key := dir + ".key"
	if err := os.WriteFile(key, []byte(viewKey), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return []string{
		"--managers=" + strings.Join(managers, ","), "--manager-name=" + managerName, "--certificates-dir=" + p.folder("boot-1", authority.BootServer),
		"--data-dir=" + dir, "--view-key-file=" + key, "--boot-address=127.0.0.1:0", "--health-address=", "--trusted-forwarders=none",
	}
}

// startChild starts the program, or the command that does, and waits until it listens.
func startChild(t *testing.T, command []string, flags ...string) *child {
	t.Helper()
	if command == nil {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command = []string{program}
	}
	command = slices.Concat(command, flags)
	c := &child{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...), log: &lines{}, running: running{t: t}}
	c.cmd.Env = append(os.Environ(), asProgram+"=1")
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	await.Until(t, "the boot server listens", func() string {
		if found := startedAt.FindStringSubmatch(c.log.String()); found != nil {
			c.base = found[1]
			return ""
		}
		return "it says " + strconv.Quote(c.log.String())
	})
	return c
}

// kill ends it as the kernel does when there is no memory.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// end ends it in order: what a manager has taken is not on disk any more.
func (c *child) end() {
	c.t.Helper()
	if err := errors.Join(c.cmd.Process.Signal(syscall.SIGTERM), c.cmd.Wait()); err != nil {
		c.t.Errorf("after SIGTERM: %v: %s", err, c.log)
	}
}
