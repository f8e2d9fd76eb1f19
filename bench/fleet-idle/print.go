package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// promises are what one manager says that it costs to look after a fleet of some size.
type promises struct{ cores, memory, restart string }

func promised(bmcs int) promises {
	if bmcs <= 10_000 {
		return promises{cores: "≤ 0.5", memory: "≤ 600 MiB"}
	}
	return promises{cores: "100,000: ≤ 1", memory: "100,000: ≤ 5 GiB", restart: "100,000: ≤ 60 min"}
}

// print writes a Markdown table, so that it goes into README.md beside this file as it is.
func (f findings) print(w io.Writer) {
	const mib = 1 << 20
	promise := promised(f.Healthy + f.Others)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...any) { fmt.Fprintf(t, "| %v\t| %v\t| %v\t|\n", cells...) }
	line("what", "found", "promise")
	line("---", "---", "---")
	for i, in := range f.Each {
		line(fmt.Sprintf("healthy BMCs observed in interval %d", i+1), fmt.Sprintf("%d of %d", in.Observed, f.Healthy), "all")
	}
	line("requests per healthy BMC and interval", fmt.Sprintf("%.3f (most: %.2f)", f.RequestsMean, f.RequestsMost), "≤ 1.1")
	line("requests at a time per BMC", f.MaxRequests, "≤ 1")
	line("connections at a time per BMC", f.MaxConnections, "≤ 1")
	line("logins per healthy BMC since the start", f.MaxLogins, 1)
	line("requests per hanging BMC and interval", fmt.Sprintf("%.2f", f.HangingLooks), "")
	line("others known to fail", fmt.Sprintf("%d of %d", f.Failing, f.Others), "all")
	line("processor, cores", fmt.Sprintf("%.3f", f.CPUShare), promise.cores)
	line("memory (RSS), steady", fmt.Sprintf("%.0f MiB", float64(f.RSS)/mib), promise.memory)
	line("memory (RSS), peak since the start", fmt.Sprintf("%.0f MiB", float64(f.PeakRSS)/mib), promise.memory)
	line("all BMCs observed, once", f.FirstLook.Round(100*time.Millisecond), "")
	line("all Servers Available, once", fmt.Sprintf("%v, %v of processor, %.1f requests a BMC",
		f.Available.Round(100*time.Millisecond), f.FirstLookCPU.Round(100*time.Millisecond), f.FirstRequests), "")
	line("slowest scrape of its metrics", f.SlowestScrape.Round(time.Millisecond), "")
	line("memory (RSS), peak of a restarted manager", fmt.Sprintf("%.0f MiB", float64(f.Again.PeakRSS)/mib), promise.memory)
	line("all BMCs observed by a restarted manager", fmt.Sprintf("%v, %v of processor", f.Again.Observed.Round(100*time.Millisecond), f.Again.CPU.Round(100*time.Millisecond)), promise.restart)
	line("writes of a restarted manager, of BMCs and Servers", f.Again.Writes, "")
	_ = t.Flush()
}
