package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/ipxe"
)

// maxRetryAfter bounds how long a machine believes a Retry-After.
const maxRetryAfter = time.Minute

// network is how a machine reaches others while it is on: over connections of
// its own, from its own address.
type network struct {
	machine *Machine
	episode *episode
	client  *http.Client
	// atPrompt says that the machine waits for a person, or has switched itself off.
	atPrompt bool
}

func (m *Machine) network(e *episode) *network {
	var roots *x509.CertPool
	if m.rack.opts.BootRoots != nil {
		roots = m.rack.opts.BootRoots()
	}
	return &network{machine: m, episode: e, client: &http.Client{Transport: m.transport(roots)}}
}

// transport speaks TLS with whom these authorities have signed; nil: those of the system.
func (m *Machine) transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext:           m.Dial,
		MaxIdleConnsPerHost:   1,
		IdleConnTimeout:       5 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		DisableCompression:    true, // digests are of what was sent
	}
}

func (n *network) close() { n.client.CloseIdleConnections() }

// Dial connects as the machine does: from its own address where that can be: any address of
// 127.0.0.0/8 may talk to any other, but to nothing else.
func (m *Machine) Dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	return dialFrom(ctx, m.ip, protocol, address)
}

func dialFrom(ctx context.Context, from netip.Addr, protocol, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ownAddresses && ip.To4() != nil && ip.IsLoopback() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	return d.DialContext(ctx, protocol, address)
}

// get fetches one file. All of it is read and hashed, the first keep bytes are
// returned. Every attempt is recorded, whatever came of it.
func (n *network) get(ctx context.Context, what What, url string, header http.Header, keep int) ([]byte, error) {
	clock := n.machine.rack.opts.Clock
	f := Fetch{URL: url, What: what, Start: clock.Now()}
	kept, err := n.read(ctx, &f, header, keep)
	f.End = clock.Now()
	if err != nil {
		f.Error = err.Error()
	}
	n.machine.note(n.episode, func(r *BootRecord) { r.addFetch(f) })
	return kept, err
}

func (n *network) read(ctx context.Context, f *Fetch, header http.Header, keep int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	resp, err := n.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	f.Status = resp.StatusCode
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		status := &ipxe.StatusError{Code: resp.StatusCode}
		status.RetryAfter, status.Retry = retryAfter(resp.Header.Get("Retry-After"))
		return nil, status
	}
	digest := sha256.New()
	head := &bytes.Buffer{}
	body := io.TeeReader(resp.Body, digest)
	f.Bytes, err = io.Copy(&firstBytes{head, keep}, body)
	if err != nil {
		return nil, fmt.Errorf("after %d bytes: %w", f.Bytes, err)
	}
	f.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return head.Bytes(), nil
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	buffer *bytes.Buffer
	left   int
}

func (w *firstBytes) Write(p []byte) (int, error) {
	k := min(len(p), w.left)
	w.buffer.Write(p[:k])
	w.left -= k
	return len(p), nil
}

func retryAfter(value string) (time.Duration, bool) {
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 {
		return 0, false
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxRetryAfter), true
}

// getPatiently retries what may pass, as an initramfs does: no answer, 5xx and
// 429, with growing pauses.
func (n *network) getPatiently(ctx context.Context, what What, url string, header http.Header, keep int) ([]byte, error) {
	const attempts = 8
	pause := 200 * time.Millisecond
	for attempt := 1; ; attempt++ {
		body, err := n.get(ctx, what, url, header, keep)
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return body, err
		}
		wait := pause
		if status := (*ipxe.StatusError)(nil); errors.As(err, &status) {
			if status.Code < 500 && status.Code != http.StatusTooManyRequests {
				return nil, err
			}
			wait = max(wait, status.RetryAfter)
		}
		if !n.machine.rack.wait(ctx, wait) {
			return nil, err
		}
		pause = min(2*pause, 5*time.Second)
	}
}
