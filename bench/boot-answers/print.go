package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// promised is the least part of a bare handler's rate that docs/performance.md promises.
func promised(path string) float64 {
	if path == pathHTTPBoot || path == pathLabels {
		return 0.8
	}
	return 0.85
}

// promisedOfFew is the least part of the rate of the smaller site that the larger one has.
func promisedOfFew(many int) float64 {
	if many >= 1_000_000 {
		return 0.85
	}
	return 0.9
}

// printTable prints a Markdown table, so that it goes into README.md beside this file as it is.
func printTable(w io.Writer, c config, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| path\t| server\t| bytes\t| answers/s\t| of bare\t| promise\t| CPU an answer\t| of bare (CPU)\t| p50\t| p99\t| allocations\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range rows {
		few, many := c.sizes(r.Path)
		type line struct {
			name string
			figures
			ratios
			promise string
		}
		lines := []line{
			{"bare handler", r.Bare, ratios{1, 1}, ""},
			{fmt.Sprintf("%d machines", few), r.Few, r.FewOfBare, ""},
			{fmt.Sprintf("%d machines", many), r.Many, r.ManyOfBare, fmt.Sprintf("≥ %.2f", promised(r.Path))},
		}
		if !c.Alone {
			lines = append(lines, line{fmt.Sprintf("`farrier-bootserver`, %d machines", many), r.Apart, r.ApartOfBare, ""})
		}
		for _, line := range lines {
			allocations := fmt.Sprintf("%.0f", line.Mallocs)
			if line.Mallocs == 0 {
				allocations = ""
			}
			fmt.Fprintf(t, "| `%s`\t| %s\t| %d\t| %.0f\t| %.2f\t| %s\t| %.1f µs\t| %.2f\t| %d µs\t| %d µs\t| %s\t|\n",
				r.Path, line.name, r.BodyBytes, line.PerSecond, line.Rate, line.promise, float64(line.CPUPerAnswer)/1e3, line.CPU,
				line.P50.Microseconds(), line.P99.Microseconds(), allocations)
		}
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	for _, r := range rows {
		few, many := c.sizes(r.Path)
		fmt.Fprintf(w, "`%s`: %d machines answer at %.2f of the rate of %d (promise: ≥ %.2f)", r.Path, many, r.ManyOfFew.Rate, few, promisedOfFew(many))
		if !c.Alone {
			fmt.Fprintf(w, "; farrier-bootserver at %.2f of it, and at %.2f by processor time (promise: as fast)", r.ApartOfMany.Rate, r.ApartOfMany.CPU)
		}
		fmt.Fprintln(w, ".")
	}
}
