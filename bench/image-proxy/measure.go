package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/farrier-dev/farrier/bench/internal/bootserver"
	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/origin"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

// findings are what is written to the result.
type findings struct {
	Rows []row `json:"rows"`
	// RSSGrowth is the most by which the memory of a boot server grew, from its start with an empty cache.
	RSSGrowth int64 `json:"rssGrowthBytes"`
	// Upstream is what the registry sent in the cold rounds to boot servers, per layer.
	Upstream float64 `json:"upstreamPerLayer"`
}

// row is the boot server beside another server. Ratio is the median of the ratios of single rounds.
type row struct {
	Work           string  `json:"work"`
	Beside         string  `json:"beside"`
	Ours           float64 `json:"bytesPerSecond"`
	Other          float64 `json:"otherBytesPerSecond,omitempty"`
	Ratio          float64 `json:"ratio,omitempty"`
	Goal           float64 `json:"goal"`
	rounds, others []float64
}

func (r *row) add(ours, other clientsAnswer) {
	r.rounds, r.others = append(r.rounds, ours.perSecond()), append(r.others, other.perSecond())
}

func (r *row) finish() row {
	r.Ours = stats.Median(r.rounds)
	var ratios []float64
	for i, other := range r.others {
		if other > 0 {
			ratios = append(ratios, r.rounds[i]/other)
		}
	}
	if len(ratios) > 0 {
		r.Other, r.Ratio = stats.Median(r.others), stats.Median(ratios)
	}
	return *r
}

// bench is what all measurements share.
type bench struct {
	config
	clients *child.Process
	findings
}

func measure(ctx context.Context, c config) (findings, error) {
	b := &bench{config: c}
	var err error
	if b.clients, err = child.Start(ctx, roleClients); err != nil {
		return b.findings, err
	}
	if err := errors.Join(b.cached(ctx), b.cold(ctx)); err != nil {
		return b.findings, err
	}
	return b.findings, b.clients.Stop()
}

func (b *bench) ask(r clientsRequest) (a clientsAnswer, err error) {
	if err = b.clients.Ask(r, &a); err != nil {
		return a, fmt.Errorf("%s%s: %w", r.Address, r.Path, err)
	}
	return a, nil
}

// cached asks nginx and a boot server that has the layer in turns, each first in every other round.
func (b *bench) cached(ctx context.Context) error {
	o, err := origin.Start(ctx, origin.Config{Size: b.Size, Folder: b.Folder})
	if err != nil {
		return err
	}
	s, err := bootserver.Start(ctx, needing(o, b.Size, filepath.Join(b.Folder, "cached")))
	if err != nil {
		return err
	}
	nginx, nginxAddress, err := startNginx(ctx, b.Nginx, b.Folder, o.File)
	if err != nil {
		return err
	}
	if _, err := b.ask(clientsRequest{Address: s.Address, Path: o.ImagePath(), Clients: 1, Whole: true}); err != nil {
		return err
	}
	for _, clients := range []int{1, b.Clients} {
		r := row{Work: "cached, clients: " + strconv.Itoa(clients), Beside: "nginx", Goal: 0.9}
		for round := range b.Rounds + 1 {
			var got [2]clientsAnswer
			for turn := range got {
				i := (turn + round) % len(got)
				address, path := []string{s.Address, nginxAddress}[i], []string{o.ImagePath(), "/blob"}[i]
				if address == "" {
					continue
				}
				if got[i], err = b.ask(clientsRequest{Address: address, Path: path, Clients: clients, Duration: b.Duration}); err != nil {
					return err
				}
			}
			if round > 0 { // the first one warms up
				r.add(got[0], got[1])
			}
		}
		b.Rows = append(b.Rows, r.finish())
	}
	if nginx != nil {
		if err := nginx.Stop(); err != nil {
			return err
		}
	}
	return errors.Join(b.grown(s), o.Stop())
}

// needing is a boot server whose machines are going to boot the layer. One that nobody needs is verified before it is sent.
func needing(o *origin.Origin, size int64, folder string) bootserver.Config {
	return bootserver.Config{Registry: o.Address, Folder: folder, Repository: origin.Repository, Layer: o.Digest, Size: size}
}

// grown ends a boot server and notes by how much its memory has grown at most.
func (b *bench) grown(s *bootserver.Server) error {
	used, err := s.Stop()
	b.RSSGrowth = max(b.RSSGrowth, used.PeakRSS-s.Idle.RSS)
	return err
}

// cold fetches the layer from the registry itself, and by way of a boot server that has nothing, in turns.
func (b *bench) cold(ctx context.Context) error {
	o, err := origin.Start(ctx, origin.Config{Size: b.Size, BytesPerSecond: b.Rate, Folder: b.Folder})
	if err != nil {
		return err
	}
	r := row{Work: "cold, clients: 1", Beside: "registry", Goal: 0.8}
	for round := range b.ColdRounds {
		direct, err := b.ask(clientsRequest{Address: o.Address, Path: o.BlobPath(), Clients: 1, Whole: true})
		if err != nil {
			return err
		}
		before, err := o.Sent()
		if err != nil {
			return err
		}
		s, err := bootserver.Start(ctx, needing(o, b.Size, filepath.Join(b.Folder, fmt.Sprintf("cold-%d", round))))
		if err != nil {
			return err
		}
		ours, err := b.ask(clientsRequest{Address: s.Address, Path: o.ImagePath(), Clients: 1, Whole: true})
		if err != nil {
			return err
		}
		after, err := o.Sent()
		if err := errors.Join(err, b.grown(s)); err != nil {
			return err
		}
		b.Upstream = max(b.Upstream, float64(after-before)/float64(b.Size))
		r.add(ours, direct)
	}
	b.Rows = append(b.Rows, r.finish())
	return o.Stop()
}

// print writes Markdown, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer, c config) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| layer\t| boot server\t| beside it\t| ratio\t| promise\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range f.Rows {
		other, ratio := "no "+r.Beside, ""
		if r.Ratio > 0 {
			other, ratio = fmt.Sprintf("%s: %.0f MB/s", r.Beside, r.Other/1e6), fmt.Sprintf("%.2f", r.Ratio)
		}
		fmt.Fprintf(t, "| %s\t| %.0f MB/s\t| %s\t| %s\t| ≥ %.1f\t|\n", r.Work, r.Ours/1e6, other, ratio, r.Goal)
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\nMemory (RSS) of a boot server grew by at most %.1f MiB (promise: ≤ 64 MiB); layer: %.0f MiB.\n", float64(f.RSSGrowth)/(1<<20), float64(c.Size)/(1<<20))
	fmt.Fprintf(w, "Upstream: %.3f of a layer for each one that was not cached.\n", f.Upstream)
}
