package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
)

var errRedirect = errors.New("it redirects, and redirects are not followed")

// fetch asks a server once. A connection is not kept: minutes pass until the next time.
func (r *Resolver) fetch(ctx context.Context, request Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	config, err := request.tls()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Control: r.options.Hosts.control}
	client := http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, request.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("URL cannot be requested: %w", plain(err))
	}
	req.Header.Set("User-Agent", "farrier")
	if request.Username != "" {
		req.SetBasicAuth(request.Username, string(request.Password))
	}
	response, err := client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer response.Body.Close()
	return r.read(response)
}

// read takes what is content. An error page is none, whichever status it comes with: no
// config is HTML.
func (r *Resolver) read(response *http.Response) ([]byte, error) {
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "text/html" {
		return nil, errors.New("it answers with an HTML page")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, r.options.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the answer ends early: %w", plain(err))
	}
	if int64(len(body)) > r.options.MaxBytes {
		return nil, fmt.Errorf("the answer is longer than %d bytes", r.options.MaxBytes)
	}
	return body, nil
}

// plain takes the URL off an error, whose query may be secret, and says of a deadline what
// everybody understands.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	// An alert of TLS 1.3 comes when the handshake is over for the client, and then net/http puts words of its own before it.
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return alert
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
