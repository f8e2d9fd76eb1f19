package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

const (
	// interval is the pause between two questions of the machine that is measured, and answerLimit how long it waits for an answer:
	// iPXE and firmware wait at least as long.
	interval    = 10 * time.Millisecond
	answerLimit = 10 * time.Second
	// memoryInterval is how often memory is looked at.
	memoryInterval = 100 * time.Millisecond
	// maxGrowth is what a flood may cost in memory, and slower how much later another machine may have its script.
	maxGrowth = 64 << 20
	slower    = 10
)

// asked is what the machine found.
type asked struct {
	Answers int           `json:"answers"`
	Failed  int           `json:"failed"`
	First   string        `json:"firstFailure,omitempty"`
	P50     time.Duration `json:"p50Nanoseconds"`
	P99     time.Duration `json:"p99Nanoseconds"`
}

// row is what was found for one flood.
type row struct {
	Flood         string        `json:"flood"`
	Without       asked         `json:"without"`
	With          asked         `json:"with"`
	Ratio         float64       `json:"p99Ratio"`
	RSS           int64         `json:"rssBytes"`
	PeakRSS       int64         `json:"peakRSSBytes"`
	RSSAfter      int64         `json:"rssAfterBytes"`
	Sent          floodAnswer   `json:"sent"`
	ProductCPU    time.Duration `json:"productCPUNanoseconds"`
	FloodDuration time.Duration `json:"floodNanoseconds"`
}

func (p *product) measure(ctx context.Context, c config, name string, t target) (r row, err error) {
	r.Flood = name
	flooder, err := child.Start(ctx, roleFlood)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, flooder.Stop()) }()
	r.Without = p.probe(ctx, c.Baseline)
	before, err := p.Usage()
	if err != nil {
		return r, err
	}
	r.RSS, r.PeakRSS = before.RSS, before.RSS

	flooding, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside sync.WaitGroup
	beside.Go(func() { r.PeakRSS = max(r.PeakRSS, p.peak(flooding)) })
	beside.Go(func() { r.With = p.probe(flooding, c.Duration) })
	begun := time.Now()
	err = flooder.Ask(floodRequest{Target: t, Duration: c.Duration, Share: c.Share}, &r.Sent)
	r.FloodDuration = time.Since(begun)
	after, usage := p.Usage()
	cancel()
	beside.Wait()
	if err := errors.Join(err, usage); err != nil {
		return r, err
	}
	if r.Sent.Connections == 0 {
		return r, fmt.Errorf("the flood has opened no connection: %s", r.Sent.Refused)
	}
	r.ProductCPU = after.CPU - before.CPU
	if r.Without.P99 > 0 {
		r.Ratio = float64(r.With.P99) / float64(r.Without.P99)
	}
	r.RSSAfter, err = p.settled(ctx, r.RSS, c.Settle)
	return r, err
}

// probe asks for the machine's script again and again, each time on a connection of its own, as a machine does that boots.
func (p *product) probe(ctx context.Context, duration time.Duration) (a asked) {
	var took []time.Duration
	for end := time.Now().Add(duration); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(interval) {
		begun := time.Now()
		err := askOnce(context.WithoutCancel(ctx), p.boot(), machineAddress)
		took = append(took, time.Since(begun))
		if err != nil {
			if a.Failed++; a.Failed == 1 {
				a.First = err.Error()
			}
		}
	}
	a.Answers, a.P50, a.P99 = len(took), stats.Median(took), stats.Quantile(took, 0.99)
	return a
}

// askOnce asks for the machine's script from an address of this host.
func askOnce(ctx context.Context, address, from string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: answerLimit}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(answerLimit))
	if _, err := fmt.Fprintf(conn, "GET /ipxe/%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", victim, address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // it is read to its end, and the connection is ours
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/ipxe/%s: %s", victim, response.Status)
	}
	return nil
}

// peak is the most memory that the product uses until ctx ends.
func (p *product) peak(ctx context.Context) (most int64) {
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		if used, err := p.Usage(); err == nil {
			most = max(most, used.RSS)
		}
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

// settled is the memory that is used once it has come back to about what it was, or after that time.
func (p *product) settled(ctx context.Context, before int64, limit time.Duration) (int64, error) {
	const near = 16 << 20
	for end := time.Now().Add(limit); ; {
		used, err := p.Usage()
		if err != nil || used.RSS <= before+near || time.Now().After(end) {
			return used.RSS, err
		}
		select {
		case <-ctx.Done():
			return used.RSS, ctx.Err()
		case <-time.After(memoryInterval):
		}
	}
}

// printTable prints a Markdown table, so that it goes into README.md beside this file as it is.
func printTable(w io.Writer, c config, rows []row) {
	mib := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| flood\t| connections\t| answers\t| 429\t| failed\t| p99 without\t| p99 with\t| ratio\t| RSS before\t| peak\t| growth\t| after\t| CPU of flood\t| CPU of product\t|")
	fmt.Fprintln(t, "| ---"+strings.Repeat("\t| ---", 13)+"\t|")
	worst := row{}
	var growth int64
	failed := 0
	for _, r := range rows {
		fmt.Fprintf(t, "| %s\t| %d\t| %d\t| %d\t| %d of %d\t| %.1f ms\t| %.1f ms\t| %.1f\t| %.0f MiB\t| %.0f MiB\t| %+.0f MiB\t| %+.0f MiB\t| %.2f\t| %.2f\t|\n",
			r.Flood, r.Sent.Connections, r.Sent.Answers, r.Sent.Limited, r.With.Failed, r.With.Answers,
			milliseconds(r.Without.P99), milliseconds(r.With.P99), r.Ratio, mib(r.RSS), mib(r.PeakRSS), mib(r.PeakRSS-r.RSS), mib(r.RSSAfter-r.RSS),
			r.Sent.CPU.Seconds()/r.FloodDuration.Seconds(), r.ProductCPU.Seconds()/r.FloodDuration.Seconds())
		if r.Ratio > worst.Ratio {
			worst = r
		}
		growth = max(growth, r.PeakRSS-r.RSS)
		failed += r.With.Failed
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\nFailed answers: %d (promise: 0). Worst p99: %.1f times that without a flood (%s; promise: ≤ %d). Most growth: %.0f MiB (promise: ≤ %d MiB).\n",
		failed, worst.Ratio, worst.Flood, slower, mib(growth), maxGrowth>>20)
	fmt.Fprintf(w, "The flood has the lowest priority and uses at most %.2f of a processor; CPU is processors used. Flood, product and the measured\nmachine share the processors of one computer, which raises p99 beyond what the product itself adds.\n", c.Share)
	for _, r := range rows {
		if r.With.First != "" {
			fmt.Fprintf(w, "%s: the first failure was: %s\n", r.Flood, r.With.First)
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
