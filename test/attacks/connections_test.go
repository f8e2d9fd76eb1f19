package attacks

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// descriptors is how many files and connections the product may open in these tests: what many service managers give.
const descriptors = 1024

// floodedProduct is a product that may open few files.
func floodedProduct(t *testing.T, args ...string) *product.Product {
	t.Helper()
	t.Parallel()
	p, err := product.LaunchBinary(t, product.Farrier.WithDescriptors(t, descriptors), filepath.Join(t.TempDir(), "data"), args...)
	if err != nil {
		t.Fatalf("farrier up: %v", err)
	}
	return p
}

// flood opens connections from an address and says something on each; it ends with the test. What is refused is refused.
func flood(t *testing.T, from, to string, connections int, said string) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Second}
	for range connections {
		conn, err := dialer.DialContext(t.Context(), "tcp", to)
		if err != nil {
			continue // the kernel's queue is full, which is as good
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, said)
	}
}

// askFrom asks for a path from an address of this host, on a connection of its own.
func askFrom(ctx context.Context, from, url string) (status int, err error) {
	transport := &http.Transport{
		DialContext:       (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext,
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// goesOn fails the test unless another machine than the attacker's is answered at once, again and again, and the API stores objects.
func goesOn(t *testing.T, p *product.Product) {
	t.Helper()
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		status, err := askFrom(ctx, "127.9.9.9", p.Boot+"/ipxe")
		if err != nil || status != http.StatusOK {
			t.Fatalf("another machine's request %d: %d, %v (process ended: %t)\n%s", i, status, err, p.Exited(), p.Log())
		}
		err = p.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("during-%d", i)}})
		cancel()
		if err != nil {
			t.Fatalf("object %d during the flood: %v (process ended: %t)", i, err, p.Exited())
		}
	}
}

// TestIdleConnectionsStarveNobody: a client that opens more connections than there are descriptors, and leaves them open, keeps
// nobody else out and does not end the process. It is named in the log.
func TestIdleConnectionsStarveNobody(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"nothing is said":            "",
		"kept alive after an answer": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a header that does not end": "GET /ipxe HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
		"a body that does not come":  "POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000\r\n\r\n[",
	} {
		t.Run(name, func(t *testing.T) {
			p := floodedProduct(t)
			flood(t, "127.0.0.1", strings.TrimPrefix(p.Boot, "http://"), descriptors+200, said)
			goesOn(t, p)
			p.Eventually("the log names the address", func(context.Context) error {
				if log := p.Log(); !strings.Contains(log, "127.0.0.1") || !strings.Contains(log, "onnection") {
					return fmt.Errorf("log: %s", log)
				}
				return nil
			})
		})
	}
}

// askAs asks for a URL under a Host header, without trusting certificates, as a browser that was led astray does.
func askAs(t *testing.T, url, host, token string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatalf("%s as %q: %v", url, host, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// TestPagesOfOtherOriginsReachNothing: a page whose name resolves to 127.0.0.1 (DNS rebinding) is answered by no listener of this host; who
// means one of them is.
func TestPagesOfOtherOriginsReachNothing(t *testing.T) {
	t.Parallel()
	metrics, events, boot := loopback.Free(t), loopback.Free(t), loopback.Free(t)
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--metrics-address", metrics, "--bmc-events-address", events,
		"--boot-address", boot, "--boot-url", "http://boot.example:8082")
	for what, url := range map[string]string{
		"boot scripts": "http://" + boot + "/ipxe", "health": "http://" + boot + "/healthz", "operators": p.Operator + "/explain?uuid=x",
		"metrics": "https://" + metrics + "/metrics", "events": "http://" + events + "/",
	} {
		for _, host := range []string{"attacker.example", "attacker.example:8082", "127.0.0.1.attacker.example", "attacker.localhost"} {
			if status := askAs(t, url, host, ""); status != http.StatusMisdirectedRequest {
				t.Errorf("%s as %s: %d", what, host, status)
			}
		}
		for _, host := range []string{"localhost", "127.0.0.1:1", "[::1]"} {
			if status := askAs(t, url, host, ""); status == http.StatusMisdirectedRequest {
				t.Errorf("%s as %s: %d", what, host, status)
			}
		}
	}
	if status := askAs(t, "http://"+boot+"/ipxe", "boot.example:8082", ""); status != http.StatusOK {
		t.Errorf("scripts under the name of --boot-url: %d", status)
	}
}

// TestMetricsAreForThoseWhoMay: figures of a fleet tell much about it; a stranger gets none, nor does one who knows a token that does
// not allow them.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	metrics := loopback.Free(t)
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--metrics-address", metrics)
	url := "https://" + metrics + "/metrics"
	if status, err := askFrom(t.Context(), "127.0.0.1", "http://"+metrics+"/metrics"); err == nil && status == http.StatusOK {
		t.Fatal("metrics are served to whoever asks")
	}
	for what, c := range map[string]struct {
		token string
		want  int
	}{"no token": {"", 401}, "an invented token": {"invented", 401}} {
		if got := askAs(t, url, "127.0.0.1", c.token); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	admin, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	admin.CAData, admin.CAFile = nil, ""
	admin.Insecure = true
	client, err := rest.HTTPClientFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `farrier_connections_limit{callers="machines"}`) {
		t.Errorf("the administrator: %s, %v\n%.500s", response.Status, err, body)
	}
}

// TestMetricsInThePlainStayOnTheHost: without HTTPS and tokens they are served at loopback addresses alone.
func TestMetricsInThePlainStayOnTheHost(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "192.0.2.1:9090", "metrics.example:9090"} {
		_, err := product.Launch(t, filepath.Join(t.TempDir(), "data"), "--metrics-address", address, "--metrics-plain")
		if err == nil || !strings.Contains(err.Error(), "--metrics-plain") {
			t.Errorf("%s: %v", address, err)
		}
	}
	metrics := loopback.Free(t)
	product.Start(t, filepath.Join(t.TempDir(), "data"), "--metrics-address", metrics, "--metrics-plain")
	if status, err := askFrom(t.Context(), "127.0.0.1", "http://"+metrics+"/metrics"); err != nil || status != http.StatusOK {
		t.Errorf("on the host: %d, %v", status, err)
	}
}

// TestRequestsOfOneAddressAreLimited: a client that asks as fast as it can is told to wait, by default; others are not.
func TestRequestsOfOneAddressAreLimited(t *testing.T) {
	p := shared.For(t)
	for what, request := range map[string]string{
		"a machine":                     "GET /ipxe/%08d-0000-4000-8000-000000000000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"who says to ask for a machine": "GET /httpboot HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\nX-Number: %d\r\n\r\n",
	} {
		limited := false
		for try := 0; try < 10 && !limited; try++ {
			limited = isLimited(t, "127.7.7.7", strings.TrimPrefix(p.Boot, "http://"), request)
		}
		if !limited {
			t.Errorf("%s: was never told to wait", what)
		}
	}
	if status, err := askFrom(t.Context(), "127.9.9.9", p.Boot+"/ipxe"); err != nil || status != http.StatusOK {
		t.Errorf("another machine: %d, %v", status, err)
	}
}

// TestHandshakesOfOneAddressAreLimited: who begins one TLS handshake after the other is cut off, and the boot server has time for others.
func TestHandshakesOfOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--boot-tls-address", "127.0.0.1:0", "--boot-tls-rate-limit", "1")
	const stranger, connections = "127.6.6.6", 100
	flood(t, stranger, strings.TrimPrefix(p.Boot, "https://"), connections, "")
	if err := tlsHandshakeFrom(t, stranger, p.Boot, p.BootCA, &tls.Config{}); err == nil {
		t.Errorf("after %d connections another one is taken", connections)
	}
	if err := tlsHandshake(t, p.Boot, p.BootCA, &tls.Config{}); err != nil {
		t.Errorf("another machine: %v", err)
	}
}

// isLimited asks twenty thousand times over one connection from an address of this host without waiting for answers, and reports whether one
// of them is 429.
func isLimited(t *testing.T, from, to, request string) bool {
	t.Helper()
	const requests = 20_000
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(product.Patience))
	go func() {
		out := bufio.NewWriter(conn)
		for i := range requests {
			_, _ = fmt.Fprintf(out, request, i)
		}
		_ = out.Flush()
	}()
	in := bufio.NewReader(conn)
	for range requests {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusTooManyRequests {
			return true
		}
	}
	return false
}

// TestADirectoryOfAnotherUserIsRefused: whoever has made the directory of cached layers beforehand could change what machines boot.
func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(data, "images", "sha256"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(data, "images"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := product.Launch(t, data)
	if err == nil || !strings.Contains(err.Error(), "--data-dir") || !strings.Contains(err.Error(), "chown") {
		t.Errorf("started, or did not say what to do: %v", err)
	}
}

// TestInventedTokensAreFew: whoever tries tokens is told to wait before he has cost the Kubernetes API much.
func TestInventedTokensAreFew(t *testing.T) {
	p := shared.For(t)
	const tries = 200
	for i := range tries {
		if askAs(t, p.Operator+"/boots/00000000-0000-4000-8000-000000000000", "127.0.0.1", fmt.Sprintf("invented-%d", i)) == http.StatusTooManyRequests {
			return
		}
	}
	t.Errorf("%d tokens were looked at", tries)
}

// TestOtherListenersHaveRoom: connections that are left open at the address of events, of operators or of metrics keep nobody else out,
// there or elsewhere.
func TestOtherListenersHaveRoom(t *testing.T) {
	events, metrics := loopback.Free(t), loopback.Free(t)
	p := floodedProduct(t, "--bmc-events-address", events, "--metrics-address", metrics, "--metrics-plain")
	operators := strings.TrimPrefix(p.Operator, "https://")
	for _, address := range []string{events, operators} {
		flood(t, "127.0.0.1", address, descriptors/2, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
	}
	flood(t, "127.0.0.1", metrics, descriptors, "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") // kept alive
	goesOn(t, p)
	for what, url := range map[string]string{"events": "http://" + events + "/", "metrics": "http://" + metrics + "/metrics"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := askFrom(ctx, "127.9.9.9", url); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	if status := askAs(t, p.Operator+"/boots/00000000-0000-4000-8000-000000000000", "127.0.0.1", ""); status != http.StatusUnauthorized {
		t.Errorf("operators: %d", status)
	}
}
