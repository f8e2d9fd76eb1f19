package attacks

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/lab"
)

// imageLiar is an allowed registry that answers for any blob as it likes.
type imageLiar struct {
	*httptest.Server
	// asked counts requests for blobs, and open those that have not ended.
	asked, open atomic.Int64
}

func startImageLiar(t *testing.T, answer http.HandlerFunc) *imageLiar {
	t.Helper()
	l := &imageLiar{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		l.open.Add(1)
		defer l.open.Add(-1)
		answer(w, r)
	}))
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

func (l *imageLiar) address() string { return l.Listener.Addr().String() }

// flags allow it beside the registry of the lab.
func (l *imageLiar) flags(more ...string) []string {
	return append([]string{"--allowed-registries", l.address(), "--plain-http-registries", l.address()}, more...)
}

func imageBlobURL(boot, image, digest string) string {
	return boot + "/image?" + url.Values{"imageName": {image}, "layerDigest": {digest}, "version": {"1"}}.Encode()
}

// blobURL is that of a blob which no boot configuration names.
func (l *imageLiar) blobURL(boot string, i int) string {
	return imageBlobURL(boot, l.address()+"/some/image", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strconv.Itoa(i)))))
}

// imageGet asks for something as anybody on the provisioning network does, who hangs up after a while.
func imageGet(ctx context.Context, address string, patience time.Duration) (status int, header http.Header, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// imageClaimBoots has a machine boot an image that the product has not fetched yet.
func imageClaimBoots(l *lab.Lab, p *lab.Running) {
	l.Ignition(p, "victim", "ignition")
	l.Claim(p, "victim")
	p.Boots(l.MachineOf(p, p.Bound("victim")), sim.OutcomeInstalled)
}

// TestAFalseDigestEmptiesNoCache: a stranger names a digest that is nobody's, and a registry says that it is as large as
// the cache, or as large as what the cache keeps for strangers, and sends that much. What machines are going to boot stays.
func TestAFalseDigestEmptiesNoCache(t *testing.T) {
	const cache = 8 << 20
	size := new(atomic.Int64)
	liar := startImageLiar(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.FormatInt(size.Load(), 10))
		_, _ = io.CopyN(w, imageZeros{}, size.Load())
	})
	l := lab.New(t, 1)
	pushed, err := l.Registry.Push(t.Context(), "uki", "1", localregistry.SmallUKI(7))
	if err != nil {
		t.Fatal(err)
	}
	p := l.Up(t, liar.flags("--default-httpboot-oci-image", l.Registry.Reference("uki", "1"), "--image-cache-size", strconv.Itoa(cache))...)
	needed := imageBlobURL(p.Boot, l.Registry.Address()+"/uki", pushed.UKI)
	p.Eventually("the UKI is served", func(ctx context.Context) error {
		if status, _, body, err := imageGet(ctx, needed, 10*time.Second); status != http.StatusOK || err != nil {
			return fmt.Errorf("status %d, %d bytes, %v", status, len(body), err)
		}
		return nil
	})
	l.Registry.SetAway(true)
	defer l.Registry.SetAway(false)
	for i, n := range []int64{cache, cache / 2, cache / 4, cache - 1} {
		size.Store(n)
		if status, _, body, err := imageGet(t.Context(), liar.blobURL(p.Boot, i), time.Minute); status == http.StatusOK {
			t.Errorf("a blob that is not what its digest says: status %d, %d bytes, %v", status, len(body), err)
		}
		if status, _, body, err := imageGet(t.Context(), needed, time.Minute); status != http.StatusOK || err != nil || len(body) != len(localregistry.SmallUKI(7).UKI) {
			t.Fatalf("after %d bytes: what machines boot is gone: status %d, %d bytes, %v", n, status, len(body), err)
		}
	}
}

type imageZeros struct{}

func (imageZeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestHungUpDownloadsStopNoBoot: a stranger begins downloads of a registry that drips, and hangs up. A machine boots an
// image that is not cached meanwhile, and the downloads end.
func TestHungUpDownloadsStopNoBoot(t *testing.T) {
	liar := startImageLiar(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<20))
		for tick := time.NewTicker(time.Second); ; {
			_, _ = w.Write([]byte{0})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	})
	l := lab.New(t, 1)
	p := l.Up(t, liar.flags()...)
	l.Discover(p)
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			status, _, body, _ := imageGet(t.Context(), liar.blobURL(p.Boot, i), 2*time.Second)
			if status == http.StatusOK {
				t.Errorf("a stranger was sent %d bytes that nobody verified", len(body))
			}
		})
	}
	clients.Wait()
	imageClaimBoots(l, p)
	p.Eventually("downloads that nobody waits for end", func(context.Context) error {
		if n := liar.open.Load(); n > 0 {
			return fmt.Errorf("%d go on", n)
		}
		return nil
	})
}

// TestRandomDigestsStopNoBoot: a stranger asks for 2,000 digests of a registry that never answers. Most of it is refused
// at once, the registry hears little of it, the log has few lines of it, and a machine boots meanwhile.
func TestRandomDigestsStopNoBoot(t *testing.T) {
	liar := startImageLiar(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	l := lab.New(t, 1)
	p := l.Up(t, liar.flags()...)
	l.Discover(p)
	const digests = 2000
	var next, refused atomic.Int64
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			for i := next.Add(1); i <= digests; i = next.Add(1) {
				status, header, _, _ := imageGet(t.Context(), liar.blobURL(p.Boot, int(i)), time.Second)
				switch status {
				case http.StatusTooManyRequests, http.StatusServiceUnavailable:
					refused.Add(1)
					if header.Get("Retry-After") == "" {
						t.Errorf("status %d does not say when to come back", status)
					}
				}
			}
		})
	}
	imageClaimBoots(l, p)
	clients.Wait()
	if n := refused.Load(); n < digests*9/10 {
		t.Errorf("%d of %d requests were refused", n, digests)
	}
	if n := liar.asked.Load(); n > 200 {
		t.Errorf("the registry was asked %d times on behalf of strangers", n)
	}
	if n := strings.Count(p.Log(), "refused requests for images that no boot configuration names"); n < 1 || n > 10 {
		t.Errorf("%d lines of the log say that strangers are refused, want a few", n)
	}
}

// TestARegistryRelaysNothingToStrangers: a registry sends something else than what a digest says, by itself or by a
// redirect to a server beside us. A stranger gets nothing of it, and the server is not asked.
func TestARegistryRelaysNothingToStrangers(t *testing.T) {
	const secret = "the password of the internal server is hunter2"
	var location atomic.Value
	location.Store("")
	liar := startImageLiar(t, func(w http.ResponseWriter, r *http.Request) {
		if to := location.Load().(string); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, secret)
	})
	l := lab.New(t, 1)
	p := l.Up(t, liar.flags()...)
	attack := func(t *testing.T, i int) {
		status, _, body, err := imageGet(t.Context(), liar.blobURL(p.Boot, i), time.Minute)
		if status < http.StatusBadRequest || strings.Contains(string(body), secret[:10]) {
			t.Errorf("status %d, %q, %v", status, body, err)
		}
	}
	t.Run("what it sends itself", func(t *testing.T) { attack(t, 0) })
	for i, host := range append([]string{"127.0.0.1", "[::1]"}, imageOwnAddresses(t)...) {
		t.Run("from "+host, func(t *testing.T) {
			listener, err := net.Listen("tcp", host+":0")
			if err != nil {
				t.Skip(err)
			}
			var asked atomic.Int64
			internal := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = io.WriteString(w, secret)
			})}
			go func() { _ = internal.Serve(listener) }()
			defer func() { _ = internal.Close() }()
			location.Store("http://" + listener.Addr().String() + "/admin")
			defer location.Store("")
			attack(t, i+1)
			if asked.Load() > 0 {
				t.Error("the internal server was asked")
			}
		})
	}
}

// imageOwnAddresses are those of this host beside loopback, where it has some.
func imageOwnAddresses(t *testing.T) []string {
	t.Helper()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, addr := range own {
		if network, ok := addr.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			if host := network.IP.String(); strings.Contains(host, ":") {
				hosts = append(hosts, "["+host+"]")
			} else {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}
