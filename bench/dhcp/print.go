package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

const (
	// window is how many requests wait at a time where as many as possible are answered.
	window = 64
	// fastFor is how long that takes: longer, and machines would ask more often than they may.
	fastFor = 2 * time.Second
)

// fastest measures how many DISCOVERs a second the product and the bare server answer, in turns.
func (f *findings) fastest(c config, machines *child.Process) error {
	for range c.Rounds {
		for port, rates := range map[int]*[]float64{dhcpPort: &f.Product, echoPort: &f.Echo} {
			var a loadAnswer
			if err := machines.Ask(request{Name: "fastest", Port: port, Duration: fastFor, Known: c.Known, Window: window}, &a); err != nil {
				return err
			}
			*rates = append(*rates, float64(a.Answered)/a.Took.Seconds())
		}
	}
	if echo := stats.Median(f.Echo); echo > 0 {
		f.Ratio = stats.Median(f.Product) / echo
	}
	return nil
}

var errLost = errors.New("answers of known machines were lost")

// promised is about what the benchmark holds the product to.
func (f findings) promised() error {
	for _, r := range f.Rows {
		if r.Lost > 0 {
			return fmt.Errorf("%w: %d of %d (%s)", errLost, r.Lost, r.Asked, r.Load)
		}
	}
	return nil
}

func (f findings) print(w io.Writer, c config) {
	fmt.Fprintf(w, "%d requests a second, %d known machines, %v each:\n\n", c.Rate, c.Known, c.Duration)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(t, "| load\t asked by known\t lost\t dropped by the kernels\t p50\t p99\t asked by strangers\t told\t CPU of server\t")
	fmt.Fprintln(t, "| ---\t ---\t ---\t ---\t ---\t ---\t ---\t ---\t ---\t")
	for _, r := range append(f.Rows, f.Bare) {
		fmt.Fprintf(t, "| %s\t %d\t %d\t %d, %d\t %.1f ms\t %.1f ms\t %d\t %d\t %.2f\t\n", r.Load, r.Asked, r.Lost, r.DroppedRequests, r.Dropped, milliseconds(r.P50), milliseconds(r.P99), r.Strangers, r.Told, r.CPU)
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\nDISCOVERs of known machines answered a second at most: %.0f; by the bare server: %.0f; ratio %.2f.\n", stats.Median(f.Product), stats.Median(f.Echo), f.Ratio)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
