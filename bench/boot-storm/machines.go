package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

const roleMachines = "machines"

type stormRequest struct {
	Address, Artifact string
	Machines, Whole   int
	Size              int64
}

// The steps of a boot.
const (
	stepChainload = iota
	stepScript
	stepIgnition
	stepRange
	stepWhole
	steps
)

var stepNames = [steps]string{"chainload `/ipxe`", "script `/ipxe/{uuid}`", "ignition `/ignition/{uuid}`", "first 64 KiB of `/image`", "whole of `/image`"}

// step is what all machines found in one step of their boot.
type step struct {
	Answers int           `json:"answers"`
	P50     time.Duration `json:"p50Nanoseconds"`
	P99     time.Duration `json:"p99Nanoseconds"`
	Max     time.Duration `json:"maxNanoseconds"`
}

type stormAnswer struct {
	Failed  int           `json:"failed"`
	First   string        `json:"firstFailure,omitempty"`
	Elapsed time.Duration `json:"elapsedNanoseconds"`
	Steps   [steps]step   `json:"steps"`
}

// bootDeadline is far beyond what a boot takes: firmware gives up sooner, which the table shows.
const bootDeadline = 10 * time.Minute

func serveMachines(ctx context.Context) error {
	return child.Serve(func(r stormRequest) (a stormAnswer, err error) {
		took := make([][steps]time.Duration, r.Machines)
		errs := make([]error, r.Machines)
		var running sync.WaitGroup
		start := time.Now()
		for i := range r.Machines {
			running.Go(func() { errs[i] = boot(ctx, r, i, &took[i]) })
		}
		running.Wait()
		a.Elapsed = time.Since(start)
		for i, err := range errs {
			if err != nil {
				if a.Failed++; a.Failed == 1 {
					a.First = fmt.Sprintf("machine %d: %v", i, err)
				}
			}
		}
		for s := range steps {
			var all []time.Duration
			for i := range took {
				if took[i][s] > 0 {
					all = append(all, took[i][s])
				}
			}
			a.Steps[s] = step{len(all), stats.Median(all), stats.Quantile(all, 0.99), stats.Quantile(all, 1)}
		}
		return a, nil
	})
}

// boot is one machine, over one connection.
func boot(ctx context.Context, r stormRequest, i int, took *[steps]time.Duration) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(bootDeadline)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 4<<10)
	ask := func(step int, path, header string, status int, length int64) error {
		sent := time.Now()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, r.Address, header); err != nil {
			return fmt.Errorf("%s: %w", stepNames[step], err)
		}
		resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // it is read to its end, and the connection is ours
		if err != nil {
			return fmt.Errorf("%s: %w", stepNames[step], err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			return fmt.Errorf("%s: after %d bytes: %w", stepNames[step], n, err)
		}
		if resp.StatusCode != status || n != resp.ContentLength || length > 0 && n != length {
			return fmt.Errorf("%s: %s, %d bytes", stepNames[step], resp.Status, n)
		}
		took[step] = time.Since(sent)
		return nil
	}
	if err := ask(stepChainload, "/ipxe", "", http.StatusOK, 0); err != nil {
		return err
	}
	if err := ask(stepScript, "/ipxe/"+uuid(i), "", http.StatusOK, 0); err != nil {
		return err
	}
	if err := ask(stepIgnition, "/ignition/"+uuid(i)+"?token="+token(i), "", http.StatusOK, 0); err != nil {
		return err
	}
	// Spread over all machines, the first one included.
	if r.Whole > 0 && i%max(r.Machines/r.Whole, 1) == 0 {
		return ask(stepWhole, r.Artifact, "", http.StatusOK, r.Size)
	}
	return ask(stepRange, r.Artifact, "Range: bytes=0-65535\r\n", http.StatusPartialContent, 64<<10)
}

// print writes Markdown, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| step\t| answers\t| p50\t| p99\t| longest\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for i, s := range f.Steps {
		round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
		fmt.Fprintf(t, "| %s\t| %d\t| %v\t| %v\t| %v\t|\n", stepNames[i], s.Answers, round(s.P50), round(s.P99), round(s.Max))
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\nFailed: %d of %d machines (promise: 0). Upstream: %.3f times the artifact of %.0f MB (promise: 1).\n",
		f.Failed, c.Machines, f.Upstream, float64(c.Size)/1e6)
	fmt.Fprintf(w, "Script: p99 is %.1f times the median (promise: ≤ 50). All booted in %v; memory (RSS) of the boot server: at most %.0f MiB.\n",
		f.ScriptP99ToMedian, f.Elapsed.Round(time.Millisecond), float64(f.PeakRSS)/(1<<20))
}
