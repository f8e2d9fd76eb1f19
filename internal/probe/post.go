package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// errorTextLimit bounds how much of a refusal is read for the log.
const errorTextLimit = 512

type poster struct {
	cfg    Config
	jitter func() float64
}

func newPoster(cfg Config) (*poster, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &poster{cfg: cfg, jitter: cfg.Jitter}
	if p.jitter == nil {
		p.jitter = rand.Float64
	}
	return p, nil
}

// untilAccepted posts what body gives to one of the registry's paths. The pause
// doubles with every refusal; a Retry-After that is longer wins. The answer may be an
// order.
func (p *poster) untilAccepted(ctx context.Context, path string, body func(context.Context) ([]byte, error)) (inspection.Mandate, error) {
	var none inspection.Mandate
	start, pause := p.cfg.Clock.Now(), p.cfg.Duration
	for attempt := 1; ; attempt++ {
		mandate, retryAfter, err := p.try(ctx, path, body, p.left(start))
		if err == nil {
			p.cfg.Logger.Info("report accepted", "path", path, "attempt", attempt)
			return mandate, nil
		}
		if rejected := (*RejectedError)(nil); errors.As(err, &rejected) {
			return none, fmt.Errorf("%s: %w", path, err)
		}
		wait := max(p.jittered(pause), retryAfter)
		if wait >= p.left(start) {
			return none, fmt.Errorf("%s: given up after %d attempts in %s: %w", path, attempt, p.cfg.Clock.Since(start), err)
		}
		p.cfg.Logger.Info("report not accepted, retrying", "path", path, "attempt", attempt, "retryAfter", wait.String(), "error", err)
		if ctxErr := p.sleep(ctx, wait); ctxErr != nil {
			return none, fmt.Errorf("%s: stopped after %d attempts: %w: %w", path, attempt, ctxErr, err)
		}
		pause = min(2*pause, max(maxPause, p.cfg.Duration))
	}
}

// left is what remains of the time for all attempts.
func (p *poster) left(start time.Time) time.Duration {
	if p.cfg.Timeout == 0 {
		return math.MaxInt64
	}
	return p.cfg.Timeout - p.cfg.Clock.Since(start)
}

// jittered spreads a pause over its upper half, so that machines that were
// powered on together do not come back together.
func (p *poster) jittered(d time.Duration) time.Duration {
	return d/2 + time.Duration(p.jitter()*float64(d/2))
}

func (p *poster) sleep(ctx context.Context, d time.Duration) error {
	timer := p.cfg.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *poster) try(ctx context.Context, path string, body func(context.Context) ([]byte, error), left time.Duration) (none inspection.Mandate, _ time.Duration, _ error) {
	b, err := body(ctx)
	if err != nil {
		return none, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(p.cfg.ClientTimeout, left))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.RegistryURL+"/"+path, bytes.NewReader(b))
	if err != nil {
		return none, 0, withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.cfg.HTTPClient.Do(req)
	if err != nil {
		return none, 0, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusCreated {
		// Half an answer may have been half an order: asking again is safe, for the
		// receiver keeps one report an attempt.
		mandate, err := inspection.ReadMandate(resp)
		if errors.Is(err, inspection.ErrMalformed) {
			p.cfg.Logger.Error(err, "order of the boot server not decoded and not carried out")
			err = nil
		}
		return mandate, 0, err
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, errorTextLimit))
	retryAfter, err := judge(resp, strings.TrimSpace(string(text)), p.cfg.Clock.Now())
	return none, retryAfter, err
}

// judge turns an answer into nil, a RejectedError, or an error to retry after.
// Only what is wrong with the message itself is final. 401 is not: another
// replica of the boot server may not have heard of the attempt yet.
func judge(resp *http.Response, text string, now time.Time) (time.Duration, error) {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return 0, &RejectedError{StatusCode: resp.StatusCode, Text: text}
	}
	return retryAfter(resp.Header.Get("Retry-After"), now), fmt.Errorf("HTTP %d: %s", resp.StatusCode, text)
}

// retryAfter reads both forms of RFC 9110 §10.2.3 and believes no more than
// ten minutes.
func retryAfter(value string, now time.Time) time.Duration {
	const most = 10 * time.Minute
	var d time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		d = time.Duration(min(seconds, int(most/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), most)
}

// withoutURL takes the URL, and with it the boot token, out of the errors of
// net/http.
func withoutURL(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return fmt.Errorf("%s: %w", urlErr.Op, urlErr.Err)
	}
	return err
}
