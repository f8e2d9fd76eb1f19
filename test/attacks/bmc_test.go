package attacks

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

const bmcPassword = "the-password-of-the-bmc"

// sshThief is an SSH server that lets everybody in and writes down what it is told.
type sshThief struct {
	port   int
	signer ssh.Signer

	mu        sync.Mutex
	passwords []string
}

func startSSHThief(t *testing.T) *sshThief {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &sshThief{}
	if s.signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PasswordCallback: func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.passwords = append(s.passwords, string(p))
		return nil, nil
	}}
	config.AddHostKey(s.signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, channels, _, err := ssh.NewServerConn(conn, config)
				if err != nil {
					return
				}
				<-channels // a command: the connection breaks, as in a restart
			})
		}
	})
	return s
}

func (s *sshThief) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.passwords)
}

func (s *sshThief) fingerprint() string { return ssh.FingerprintSHA256(s.signer.PublicKey()) }

// bmcs is a product that asks BMCs which are not what they seem.
type bmcs struct {
	*product.Product
	t *testing.T
}

func startBMCs(t *testing.T, args ...string) bmcs {
	t.Helper()
	return askBMCs(t, product.Start(t, filepath.Join(t.TempDir(), "data"), args...))
}

func askBMCs(t *testing.T, p *product.Product) bmcs {
	t.Helper()
	b := bmcs{p, t}
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, Data: map[string][]byte{"username": []byte("admin"), "password": []byte(bmcPassword)}}
	if err := b.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return b
}

// add creates a BMC whose command line over SSH is known.
func (b bmcs) add(name, ip string, protocol metalv1.Protocol, sshPort int, annotations map[string]string) {
	b.t.Helper()
	obj := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{metalv1.AnnotationMake: "Dell"}}}
	for k, v := range annotations {
		obj.Annotations[k] = v
	}
	obj.Spec.Access = &metalv1.InlineEndpoint{IP: ip, MACAddress: "02:fa:44:00:00:01"}
	obj.Spec.Protocol, obj.Spec.BMCSecretRef.Name = protocol, "secret"
	if sshPort != 0 {
		obj.Spec.ConsoleProtocol = &metalv1.ConsoleProtocol{Name: metalv1.ConsoleProtocolSSH, Port: int32(sshPort)}
	}
	if err := b.Create(b.t.Context(), obj); err != nil {
		b.t.Fatal(err)
	}
}

func (b bmcs) change(name string, change func(*metalv1.BMC)) {
	b.t.Helper()
	b.Eventually("change of BMC "+name, func(ctx context.Context) error {
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: name}, &obj); err != nil {
			return err
		}
		change(&obj)
		return b.Update(ctx, &obj)
	})
}

// says waits until a condition of a BMC has that status and reason, and returns its message.
func (b bmcs) says(name, kind string, status metav1.ConditionStatus, reason string) (message string) {
	b.t.Helper()
	b.Eventually(kind+" of BMC "+name, func(ctx context.Context) error {
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: name}, &obj); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(obj.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("want %s %s: %+v", status, reason, obj.Status.Conditions)
		}
		message = c.Message
		return nil
	})
	return message
}

func bmcPort(t *testing.T, at net.Addr) int32 {
	t.Helper()
	return int32(at.(*net.TCPAddr).Port)
}

// startTLSThief answers in the place of a BMC, with a certificate of his own, and counts what he is asked.
func startTLSThief(t *testing.T) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	thief := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(thief.Close)
	thief.Config.ErrorLog = nil
	return thief, &asked
}

// The attack that was seen: somebody between us and a BMC answers in its place, with a certificate of his own, and waits until the password is
// given over SSH. A person who asks for a restart by force does not help him either.
func TestACertificateThatIsNotTheBMCs(t *testing.T) {
	t.Parallel()
	thief, asked := startTLSThief(t)
	shell := startSSHThief(t)
	b := startBMCs(t, "--bmc-failure-reset-delay", "1ms")
	b.add("victim", "127.0.0.1", metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTPS, Port: bmcPort(t, thief.Listener.Addr())}, shell.port,
		map[string]string{metalv1.AnnotationSSHHostKey: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(shell.signer.PublicKey())))})
	b.Eventually("the certificate is noticed", func(ctx context.Context) error {
		if got := shell.told(); len(got) > 0 {
			return nil // said below
		}
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: "victim"}, &obj); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(obj.Status.Conditions, metalv1.ConditionReady); c == nil || c.Reason != metalv1.ReasonUntrusted {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	if got := shell.told(); len(got) > 0 {
		t.Fatalf("somebody with another certificate was told %q over SSH", got)
	}
	for _, operation := range []string{metalv1.OperationForceRestartBMC, metalv1.OperationGracefulRestartBMC} {
		b.change("victim", func(obj *metalv1.BMC) { obj.Annotations[metalv1.AnnotationOperation] = operation })
		b.Eventually(operation+" is over", func(ctx context.Context) error {
			var obj metalv1.BMC
			if err := b.Get(ctx, client.ObjectKey{Name: "victim"}, &obj); err != nil {
				return err
			}
			if obj.Annotations[metalv1.AnnotationOperation] != "" || obj.Annotations[metalv1.AnnotationOperationStarted] != "" {
				return errors.New("under way")
			}
			return nil
		})
		b.says("victim", metalv1.ConditionReset, metav1.ConditionFalse, metalv1.ReasonUntrusted)
	}
	if got := shell.told(); len(got) > 0 || asked.Load() > 0 {
		t.Errorf("told over SSH: %q; over Redfish: %d requests", got, asked.Load())
	}
}

// A person has accepted the certificate of a BMC, and somebody between shows another. Farrier, which verifies no certificate here, trusts the accepted one alone,
// and gives the password over SSH no more than over Redfish. The same somebody is asked where his certificate is the accepted one: the test can tell.
func TestACertificateThatIsNotTheAcceptedOne(t *testing.T) {
	t.Parallel()
	thief, asked := startTLSThief(t)
	shell := startSSHThief(t)
	b := startBMCs(t, "--bmc-failure-reset-delay", "1ms", "--insecure-skip-bmc-verify")
	key, shown := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(shell.signer.PublicKey()))), bmc.Fingerprint(thief.Certificate())
	b.add("victim", "127.0.0.1", metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTPS, Port: bmcPort(t, thief.Listener.Addr())}, shell.port,
		map[string]string{metalv1.AnnotationSSHHostKey: key, metalv1.AnnotationCertificate: strings.Repeat("AB", 32)})
	message := b.says("victim", metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonUntrusted)
	if accept := "kubectl annotate --overwrite bmc victim farrier.dev/certificate=" + shown; !strings.HasSuffix(message, accept) {
		t.Errorf("%q does not end with %q", message, accept)
	}
	b.change("victim", func(obj *metalv1.BMC) {
		obj.Annotations[metalv1.AnnotationOperation] = metalv1.OperationForceRestartBMC
	})
	b.says("victim", metalv1.ConditionReset, metav1.ConditionFalse, metalv1.ReasonUntrusted)
	if got := shell.told(); len(got) > 0 || asked.Load() > 0 {
		t.Errorf("told over SSH: %q; over Redfish: %d requests", got, asked.Load())
	}
	b.change("victim", func(obj *metalv1.BMC) { obj.Annotations[metalv1.AnnotationCertificate] = shown })
	b.Eventually("the accepted one is asked", func(context.Context) error {
		if asked.Load() == 0 {
			return errors.New("it is not")
		}
		return nil
	})
}

// Whoever answers on the SSH port first may be anybody. The password is for the key that a person has accepted, and what has to be accepted is
// said.
func TestAnSSHServerThatNobodyHasAccepted(t *testing.T) {
	t.Parallel()
	port := bmcPort(t, net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:"+loopback.Port(t)))) // where nobody answers Redfish
	unknown, swapped, known := startSSHThief(t), startSSHThief(t), startSSHThief(t)
	b := startBMCs(t, "--bmc-failure-reset-delay", "1ms")
	add := func(name, ip string, shell *sshThief, key string) {
		annotations := map[string]string{}
		if key != "" {
			annotations[metalv1.AnnotationSSHHostKey] = key
		}
		b.add(name, ip, metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTPS, Port: port}, shell.port, annotations)
	}
	add("unknown", "127.0.0.1", unknown, "")
	message := ""
	b.Eventually("the unknown key is refused", func(ctx context.Context) error {
		if len(unknown.told()) > 0 {
			return nil // said below
		}
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: "unknown"}, &obj); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(obj.Status.Conditions, metalv1.ConditionReset)
		if c == nil || c.Reason != metalv1.ReasonHostKeyUnknown {
			return fmt.Errorf("%+v", obj.Status.Conditions)
		}
		message = c.Message
		return nil
	})
	if got := unknown.told(); len(got) > 0 {
		t.Fatalf("the first who answers is told %q", got)
	}
	if accept := "kubectl annotate bmc unknown farrier.dev/ssh-host-key=" + unknown.fingerprint(); !strings.Contains(message, accept) {
		t.Errorf("%q does not say %q", message, accept)
	}
	// Of the others only the one whose key was accepted is told.
	b.change("unknown", func(obj *metalv1.BMC) { obj.Annotations[metalv1.AnnotationSSHHostKey] = swapped.fingerprint() })
	b.says("unknown", metalv1.ConditionReset, metav1.ConditionFalse, metalv1.ReasonHostKeyChanged)
	b.change("unknown", func(obj *metalv1.BMC) { obj.Annotations[metalv1.AnnotationSSHHostKey] = unknown.fingerprint() })
	b.Eventually("the accepted server is told", func(context.Context) error {
		if !slices.Contains(unknown.told(), bmcPassword) {
			return errors.New("it is not")
		}
		return nil
	})
	if got := append(swapped.told(), known.told()...); len(got) > 0 {
		t.Errorf("others are told %q", got)
	}
}

// A BMC points elsewhere in every way that Redfish and HTTP have: nobody else is asked anything.
func TestABMCThatPointsElsewhere(t *testing.T) {
	b := askBMCs(t, shared.For(t))
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(thief.Close)
	var redirected atomic.Int32
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there := thief.URL + r.URL.Path
		switch {
		case r.Method == http.MethodPost:
			w.Header().Set("X-Auth-Token", "token")
			w.Header().Set("Location", thief.URL+"/redfish/v1/SessionService/Sessions/1")
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/redfish/v1/" || r.URL.Path == "/redfish/v1":
			fmt.Fprintf(w, `{"@odata.id":"%s","Systems":{"@odata.id":"%s/redfish/v1/Systems"},"Managers":{"@odata.id":"%s/redfish/v1/Managers"}}`, there, thief.URL, thief.URL)
		case r.URL.Path == "/redfish/v1/Systems":
			fmt.Fprintf(w, `{"Members":[{"@odata.id":"%s/redfish/v1/Systems/1"}],"Members@odata.nextLink":"%s/redfish/v1/Systems/2"}`, thief.URL, thief.URL)
		default:
			redirected.Add(1)
			http.Redirect(w, r, there, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(hostile.Close)
	b.add("hostile", "127.0.0.1", metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTP, Port: bmcPort(t, hostile.Listener.Addr())}, 0, nil)
	b.Eventually("the BMC redirects", func(context.Context) error {
		if redirected.Load() < 2 {
			return errors.New("it was not asked for enough")
		}
		return nil
	})
	b.change("hostile", func(obj *metalv1.BMC) { obj.Annotations[metalv1.AnnotationOperation] = metalv1.OperationRetry })
	b.Eventually("its session is ended", func(ctx context.Context) error {
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: "hostile"}, &obj); err != nil {
			return err
		}
		if obj.Annotations[metalv1.AnnotationOperation] != "" {
			return errors.New("not asked again yet")
		}
		return nil
	})
	if n := stolen.Load(); n > 0 {
		t.Errorf("another host was asked %d times", n)
	}
}

// A BMC that has answered over https is told no password over http, whoever changed its object.
func TestABMCThatIsMovedToHTTP(t *testing.T) {
	t.Parallel()
	rack, err := sim.Start(t.Context(), sim.Options{
		Servers: 1, Scheme: "https", Username: "admin", Password: bmcPassword, Seed: 1, BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Stop(context.WithoutCancel(t.Context())) })
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, rack.CABundle(), 0o600); err != nil {
		t.Fatal(err)
	}
	info := rack.BMCs()[0]
	listener, err := net.Listen("tcp", net.JoinHostPort(info.IP.String(), "0")) // the address itself cannot be changed
	if err != nil {
		t.Fatal(err)
	}
	var stolen atomic.Int32
	thief := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})}}
	thief.Start()
	t.Cleanup(thief.Close)
	b := startBMCs(t, "--bmc-ca-file", ca)
	b.add("victim", info.IP.String(), metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTPS, Port: int32(info.Port)}, 0, nil)
	b.says("victim", metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
	b.Eventually("it is known", func(ctx context.Context) error {
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: "victim"}, &obj); err != nil || obj.Spec.BMCUUID == "" {
			return fmt.Errorf("UUID %q, %w", obj.Spec.BMCUUID, err)
		}
		return nil
	})
	b.change("victim", func(obj *metalv1.BMC) {
		obj.Spec.Protocol.Scheme, obj.Spec.Protocol.Port = metalv1.SchemeHTTP, bmcPort(t, thief.Listener.Addr())
	})
	b.Eventually("the change is judged", func(ctx context.Context) error {
		if stolen.Load() > 0 {
			return nil // said below
		}
		var obj metalv1.BMC
		if err := b.Get(ctx, client.ObjectKey{Name: "victim"}, &obj); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(obj.Status.Conditions, metalv1.ConditionReady); c == nil || c.Reason != metalv1.ReasonDowngraded {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	if n := stolen.Load(); n > 0 {
		t.Errorf("it is asked over http %d times", n)
	}
}
