package bootservers

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// stolenName is whose key somebody has.
const stolenName = "boot-2.example"

// stolen: whoever has the key and certificate of a boot server has what it has, and nothing else.
func (w *world) stolen(t *testing.T) {
	theirs := w.identity(t, stolenName)
	// The boot of one machine is not open, and another machine stands elsewhere.
	w.prepared("closed", "5e1f0000-0000-4000-8000-00000000c105", "")
	w.prepared("elsewhere", "5e1f0000-0000-4000-8000-00000000e15e", south)
	t.Run("from the boot stream", func(t *testing.T) { w.readsItsOwn(t, theirs) })
	t.Run("from Kubernetes", func(t *testing.T) { w.readsNothing(t, theirs) })
	t.Run("as a manager", func(t *testing.T) { w.isNoManager(t, theirs) })
}

// identity is that of a boot server, as its files are.
func (w *world) identity(t *testing.T, name string) *peer.Identity {
	t.Helper()
	identity, err := peer.FromFiles(peer.In(filepath.Join(w.certificates, name)), peer.Options{Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// follow has somebody with the identity of a boot server follow the manager from nothing, until the function it returns is called.
func (w *world) follow(t *testing.T, as *peer.Identity) (stream streampb.BootStream_FollowClient, leave func()) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+w.stream, grpc.WithTransportCredentials(credentials.NewTLS(as.ClientConfig(managerName))),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(bootstream.MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), product.Patience)
	leave = func() {
		cancel()
		_ = conn.Close()
	}
	t.Cleanup(leave)
	if stream, err = streampb.NewBootStreamClient(conn).Follow(ctx); err != nil {
		t.Fatal(err)
	}
	hello := &streampb.Hello{Instance: "a thief"}
	if err := stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	return stream, leave
}

// prepared makes a Server of a site whose machine would boot if it were switched on.
func (w *world) prepared(name, uuid, site string) {
	w.t.Helper()
	named := metav1.ObjectMeta{Namespace: managerNamespace, Name: name}
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{metalv1.LabelSite: site}}}
	server.Spec.SystemUUID = uuid
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: named.Namespace, Name: name}
	boots := &metalv1.ServerBootConfiguration{ObjectMeta: named}
	boots.Spec.ServerRef.Name, boots.Spec.Image = name, w.Registry.Reference("os", "1")
	boots.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: name}
	create(w.t, w, &corev1.Secret{ObjectMeta: named, StringData: map[string]string{"ignition": tenantsOf(name)}}, server, boots)
}

func tenantsOf(name string) string {
	return `{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"tenant-` + name + `"}]}}`
}

// readsItsOwn: the stream has what is open at the site, and nothing of the ignition of machines whose boot is not open, nor of other sites.
func (w *world) readsItsOwn(t *testing.T, theirs *peer.Identity) {
	stream, leave := w.follow(t, theirs)
	defer leave()
	var all [][]byte
	has := func(text string) bool {
		return slices.ContainsFunc(all, func(record []byte) bool { return bytes.Contains(record, []byte(text)) })
	}
	for !has(secretOf(0)) || !has("/"+managerNamespace+"/closed") {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.GetChanges().GetRecords()...)
	}
	// What was made after the others comes after them, if it comes.
	w.prepared("last", "5e1f0000-0000-4000-8000-00000000a570", "")
	for !has("/" + managerNamespace + "/last") {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.GetChanges().GetRecords()...)
	}
	for _, forbidden := range []string{"tenant-closed", "tenant-last", "tenant-elsewhere", "/" + managerNamespace + "/elsewhere"} {
		if has(forbidden) {
			t.Errorf("the boot server of another machine has %s", forbidden)
		}
	}
}

// readsNothing: the certificate opens nothing of the Kubernetes API.
func (w *world) readsNothing(t *testing.T, theirs *peer.Identity) {
	config := w.api.RESTConfig()
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := theirs.ClientConfig(managerName).GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	for who, certificates := range map[string][]tls.Certificate{"by certificate": {*shown}, "as anybody": nil} {
		mine := secure.Clone()
		mine.GetClientCertificate, mine.Certificates = nil, certificates
		by := &http.Client{Timeout: product.Patience, Transport: &http.Transport{TLSClientConfig: mine, DisableKeepAlives: true}}
		for _, path := range []string{
			"/api/v1/secrets", "/api/v1/namespaces/" + managerNamespace + "/secrets/by-hand-0", "/api/v1/namespaces/" + managerNamespace + "/secrets/farrier-boot-servers",
			"/api/v1/configmaps", "/apis/metal.ironcore.dev/v1alpha1/servers", "/apis/boot.ironcore.dev/v1alpha1/ipxebootconfigs", "/apis/coordination.k8s.io/v1/leases", "/api",
		} {
			if got, err := get(t.Context(), by, strings.TrimSuffix(config.Host, "/")+path); err == nil && got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
				t.Errorf("%s %s: %d %.200q", who, path, got.status, got.body)
			}
		}
	}
}

// isNoManager: another boot server does not follow whoever has the certificate of a boot server, whatever name he is dialled by.
func (w *world) isNoManager(t *testing.T, theirs *peer.Identity) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refused := make(chan error, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			secure := tls.Server(conn, peer.NewAuthorizer(theirs, peer.Table{"boot-1.example": {}}).ServerConfig())
			_ = secure.SetDeadline(time.Now().Add(product.Patience))
			if err = secure.Handshake(); err == nil {
				_, err = secure.Read(make([]byte, 1)) // with TLS 1.3 a client refuses when the server is done
			}
			refused <- err
			_ = secure.Close()
		}
	}()
	for _, name := range []string{managerName, stolenName} {
		b := &bootServer{w: w, name: "boot server of " + name, health: "http://" + loopback.Free(t)}
		b.args = []string{
			"--managers", listener.Addr().String(), "--manager-name", name, "--certificates-dir", filepath.Join(w.certificates, "boot-1.example"),
			"--data-dir", t.TempDir(), "--boot-address", loopback.Free(t), "--health-address", strings.TrimPrefix(b.health, "http://"),
		}
		b.start()
		for range 2 {
			if err := await.Receive(t, "a boot server that connects", refused); err == nil {
				t.Errorf("a boot server speaks with a thief as %s", name)
			}
		}
		if err := b.saysOfItself(t.Context(), "/readyz", http.StatusServiceUnavailable); err != nil {
			t.Error(err)
		}
		b.Kill()
	}
}
