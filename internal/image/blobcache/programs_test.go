package blobcache

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// registryRole makes this test a registry, in a process of its own.
const registryRole = "FARRIER_TEST_REGISTRY_ADDRESS"

const debianRegistry = "/usr/bin/docker-registry"

// startRegistryProcess starts Debian's docker-registry, or go-containerregistry's where there is none.
func startRegistryProcess(t *testing.T) (address string) {
	t.Helper()
	address = loopback.Free(t)
	var cmd *exec.Cmd
	if _, err := os.Stat(debianRegistry); err == nil {
		config := filepath.Join(t.TempDir(), "config.yml")
		text := "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + t.TempDir() + "}}\nhttp: {addr: " + address + "}\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(debianRegistry, "serve", config)
	} else {
		t.Logf("no %s (Debian package docker-registry): go-containerregistry's in its place", debianRegistry)
		cmd = exec.Command(os.Args[0], "-test.run=^TestRegistryProcess$")
		cmd.Env = append(os.Environ(), registryRole+"="+address)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	await.Nil(t, "the registry answers", func() error {
		resp, err := http.Get("http://" + address + "/v2/")
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	return address
}

// TestRegistryProcess is no test but a registry, until it is killed.
func TestRegistryProcess(t *testing.T) {
	address := os.Getenv(registryRole)
	if address == "" {
		t.Skip("only as a process of another test")
	}
	t.Error(http.ListenAndServe(address, containerregistry.New()))
}

// pushTo stores an image of a kernel and a squashfs.
func pushTo(t *testing.T, address string, kernel, squashfs []byte) (kernelDigest string) {
	t.Helper()
	layer := static.NewLayer(kernel, types.MediaType(localregistry.KernelType))
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		mutate.Addendum{Layer: layer}, mutate.Addendum{Layer: static.NewLayer([]byte("initramfs"), types.MediaType(localregistry.InitramfsType))},
		mutate.Addendum{Layer: static.NewLayer(squashfs, types.MediaType(localregistry.SquashfsType))})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(address+"/org/os:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := layer.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// cloud is a registry as clouds have them, in front of one that is not: TLS, a token
// realm, GET only, and blobs in an object storage at URLs that are good for one use,
// each of which ends after some bytes.
type cloud struct {
	registry, storage *httptest.Server
	tokens, signed    atomic.Int64
	used              atomic.Int64 // the last signed URL that was used
	leaked            atomic.Bool  // credentials, to the storage
}

// storageLimit is after how many bytes the storage hangs up.
const storageLimit = 5 << 20

func startCloud(t *testing.T, address string) *cloud {
	t.Helper()
	c := &cloud{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	c.storage = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			c.leaked.Store(true)
		}
		number, err := strconv.ParseInt(r.URL.Query().Get("signature"), 10, 64)
		if r.Method != http.MethodGet || err != nil || number <= c.used.Load() {
			http.Error(w, "expired", http.StatusForbidden)
			return
		}
		c.used.Store(number)
		proxy.ServeHTTP(&shortWriter{ResponseWriter: w, left: storageLimit}, r)
	}))
	c.registry = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			c.tokens.Add(1)
			fmt.Fprintf(w, `{"access_token":"of %s"}`, r.URL.Query().Get("scope"))
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Header.Get("Authorization") != "Bearer of repository:org/os:pull":
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="cloud",scope="repository:org/os:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/blobs/") && r.URL.Query().Get("at") == "":
			http.Redirect(w, r, r.URL.Path+"?at=storage", http.StatusTemporaryRedirect) // a relative Location
		case strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, fmt.Sprintf("%s%s?signature=%d", c.storage.URL, r.URL.Path, c.signed.Add(1)), http.StatusTemporaryRedirect)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(c.storage.Close)
	t.Cleanup(c.registry.Close)
	return c
}

// shortWriter hangs up after some bytes.
type shortWriter struct {
	http.ResponseWriter
	left int
}

func (w *shortWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		_, _ = w.ResponseWriter.Write(p[:w.left])
		panic(http.ErrAbortHandler)
	}
	w.left -= len(p)
	return w.ResponseWriter.Write(p)
}

func (c *cloud) options() Options {
	roots := x509.NewCertPool()
	roots.AddCert(c.registry.Certificate())
	// The storage is on this host, which only an allowed one may be.
	return Options{Options: registry.Options{AllowedRegistries: []string{hostOf(c.registry), hostOf(c.storage)}, RootCAs: roots}}
}

func hostOf(s *httptest.Server) string { return s.Listener.Addr().String() }

// tool runs a client in a folder; the test is skipped where there is none.
func tool(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s here", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), imagetest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "no_proxy=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func expectFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes (%v) that are not the %d wanted", filepath.Base(path), len(got), err, len(want))
	}
}

func TestRealParts(t *testing.T) {
	address := startRegistryProcess(t)
	kernel, squashfs := imagetest.Huge(31).Kernel, []byte("squashfs")
	kernelDigest := pushTo(t, address, kernel, squashfs)
	c := startCloud(t, address)
	found := resolve(t, c.options().Options, registry.Request{Reference: hostOf(c.registry) + "/org/os:v1"})
	if found.Err != nil || found.Plan.Kernel == nil || found.Plan.Kernel.Digest != kernelDigest {
		t.Fatalf("plan %+v, error %v", found.Plan, found.Err)
	}
	s := startBlobs(t, c.options())
	kernelURL := registry.LayerURL(s.URL, found.Plan, *found.Plan.Kernel)
	squashfsURL := s.URL + "/image?" + url.Values{"imageName": {hostOf(c.registry) + "/org/os"}, "version": {"v1"}, "layerName": {"squashfs"}}.Encode()

	t.Run("curl", func(t *testing.T) {
		folder := t.TempDir()
		head := tool(t, folder, "curl", "-sS", "-I", kernelURL) // before anything is cached
		if !strings.Contains(head, "200 OK") || !strings.Contains(head, fmt.Sprintf("Content-Length: %d\r\n", len(kernel))) {
			t.Errorf("HEAD: %s", head)
		}
		tool(t, folder, "curl", "-sS", "-f", "-o", "kernel", kernelURL)
		expectFile(t, filepath.Join(folder, "kernel"), kernel)
		tool(t, folder, "curl", "-sS", "-f", "-r", "65536-131071", "-o", "part", kernelURL)
		expectFile(t, filepath.Join(folder, "part"), kernel[65536:131072])
		tool(t, folder, "curl", "-sS", "-f", "-r", "-10", "-o", "end", kernelURL)
		expectFile(t, filepath.Join(folder, "end"), kernel[len(kernel)-10:])
		tool(t, folder, "curl", "-sS", "-f", "-o", "squashfs", squashfsURL)
		expectFile(t, filepath.Join(folder, "squashfs"), squashfs)
	})
	t.Run("wget", func(t *testing.T) {
		folder := t.TempDir()
		tool(t, folder, "wget", "-q", "-O", "kernel", kernelURL)
		expectFile(t, filepath.Join(folder, "kernel"), kernel)
		if err := os.Truncate(filepath.Join(folder, "kernel"), int64(len(kernel)/3)); err != nil {
			t.Fatal(err)
		}
		tool(t, folder, "wget", "-q", "-c", "-O", "kernel", kernelURL)
		expectFile(t, filepath.Join(folder, "kernel"), kernel)
		tool(t, folder, "wget", "-q", "--spider", squashfsURL)
	})
	if got := get(t, kernelURL); got.Err != nil || !bytes.Equal(got.Body, kernel) {
		t.Errorf("status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
	}
	if n := c.signed.Load(); n < 2 {
		t.Errorf("%d locations: the download never broke off", n)
	}
	if c.leaked.Load() {
		t.Error("the storage was given the registry's token")
	}
	if n := c.tokens.Load(); n > 2 {
		t.Errorf("%d tokens for a resolver and a cache", n)
	}
	// With all of it away, what was needed once still comes.
	c.registry.CloseClientConnections()
	c.registry.Close()
	if got := get(t, kernelURL); got.Err != nil || !bytes.Equal(got.Body, kernel) {
		t.Errorf("registry away: status %d, error %v", got.Status, got.Err)
	}
}
