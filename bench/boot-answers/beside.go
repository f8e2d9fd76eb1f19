package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/result"
)

// turn is a round of the product: when it was, and what was found.
type turn struct {
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	Bare    figures   `json:"bare"`
	Product figures   `json:"product"`
	// Recording: conditions of machines that were asked for in this cycle were written meanwhile.
	Recording bool `json:"recording"`
}

// productRow is what was found in some of the rounds.
type productRow struct {
	When    string  `json:"when"`
	Rounds  int     `json:"rounds"`
	Bare    figures `json:"bare"`
	Product figures `json:"product"`
	OfBare  ratios  `json:"ofBare"`
}

// recording is how the boots of one cycle were recorded.
type recording struct {
	// After and Took are when the first condition was written, from the first request on, and how long from there to the last; in whole seconds.
	After time.Duration `json:"afterNanoseconds"`
	Took  time.Duration `json:"tookNanoseconds"`
}

// runProduct measures a farrier up. Each cycle has machines of its own that ask for the first time, so that there is something to record.
func runProduct(ctx context.Context, c config) (err error) {
	started := result.Begin(name, c)
	p, err := startProduct(ctx, c.Binary, c.Few*c.Cycles+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	sample, err := p.fetchOne(ctx, c.Few*c.Cycles)
	if err != nil {
		return err
	}
	bare, _, err := startChild(ctx, serverRequest{BareSize: len(sample)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.Stop()) }()
	generator, err := child.Start(ctx, roleLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, generator.Stop()) }()
	var turns []turn
	var records []recording
	for cycle := range c.Cycles {
		found, record, err := p.cycle(ctx, c, bare, generator, cycle)
		if err != nil {
			return err
		}
		turns, records = append(turns, found...), append(records, record)
	}
	return c.finishProduct(started, turns, records, len(sample))
}

// cycle asks for machines that nobody has asked for yet, again and again, in turns with the bare handler.
func (p *product) cycle(ctx context.Context, c config, bare *server, generator *child.Process, cycle int) (turns []turn, record recording, err error) {
	targets := []*server{bare, {program: p.Program, address: p.address}}
	begun := time.Now()
	for round := range c.Rounds {
		t := turn{From: time.Now()}
		for i := range targets {
			which := (i + round) % len(targets)
			f, err := c.ask(targets[which], generator, loadRequest{Path: pathIPXE, First: cycle * c.Few, Machines: c.Few, Seed: uint64(cycle*c.Rounds + round)})
			if err != nil {
				return nil, record, err
			}
			*[]*figures{&t.Bare, &t.Product}[which] = f
		}
		t.Until = time.Now()
		turns = append(turns, t)
	}
	from, until, err := p.Recorded(ctx, cycle*c.Few, c.Few)
	if err != nil {
		return nil, record, err
	}
	for i := range turns {
		turns[i].Recording = turns[i].Until.After(from) && turns[i].From.Before(until.Add(time.Second))
	}
	return turns, recording{After: from.Sub(begun), Took: until.Sub(from)}, nil
}

// finishProduct prints a table of all rounds, of those in which boots were recorded, and of the rest.
func (c config) finishProduct(started result.Result, turns []turn, records []recording, bytes int) error {
	var rows []productRow
	for _, kind := range []struct {
		when string
		is   func(turn) bool
	}{
		{"always", func(turn) bool { return true }},
		{"while boots are recorded", func(t turn) bool { return t.Recording }},
		{"otherwise", func(t turn) bool { return !t.Recording }},
	} {
		var bare, product []figures
		for _, t := range turns {
			if kind.is(t) {
				bare, product = append(bare, t.Bare), append(product, t.Product)
			}
		}
		if len(bare) > 0 {
			rows = append(rows, productRow{When: kind.when, Rounds: len(bare), Bare: median(bare), Product: median(product), OfBare: compare(product, bare)})
		}
	}
	printProduct(os.Stdout, c, rows, records)
	return started.Finish(c.Out, map[string]any{"bodyBytes": bytes, "rows": rows, "recordings": records, "turns": turns})
}

func printProduct(w io.Writer, c config, rows []productRow, records []recording) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| `/ipxe/{uuid}`, "+fmt.Sprint(c.Few)+" machines\t| rounds\t| bare answers/s\t| farrier up answers/s\t| of bare\t| promise\t| of bare (CPU)\t| p50\t| p99\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for i, r := range rows {
		promise := ""
		if i == 0 {
			promise = fmt.Sprintf("≥ %.2f", promised(pathIPXE))
		}
		fmt.Fprintf(t, "| %s\t| %d\t| %.0f\t| %.0f\t| %.2f\t| %s\t| %.2f\t| %d µs\t| %d µs\t|\n",
			r.When, r.Rounds, r.Bare.PerSecond, r.Product.PerSecond, r.OfBare.Rate, promise, r.OfBare.CPU, r.Product.P50.Microseconds(), r.Product.P99.Microseconds())
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	for _, r := range records {
		fmt.Fprintf(w, "Boots were recorded from %.0f s after the first request on, within %.0f s.\n", r.After.Seconds(), r.Took.Seconds())
	}
}
