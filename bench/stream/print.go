package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

const (
	mega = 1e6
	mib  = 1 << 20
)

// table prints a Markdown table, so that it goes into README.md beside this file as it is.
func table(w io.Writer, lines ...[]string) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for i, line := range lines {
		for _, cell := range line {
			fmt.Fprintf(t, "| %s\t", cell)
		}
		fmt.Fprintln(t, "|")
		if i == 0 {
			for range line {
				fmt.Fprint(t, "| ---\t")
			}
			fmt.Fprintln(t, "|")
		}
	}
	_ = t.Flush()
	fmt.Fprintln(w)
}

func printSnapshot(w io.Writer, c config, f snapshotFound) {
	fmt.Fprintf(w, "Snapshot of %d machines, %.0f MB, to a fresh boot server:\n\n", c.Many, float64(f.Bytes)/mega)
	row := func(what string, rate, ratio float64, promise string) []string {
		return []string{what, fmt.Sprintf("%.0f", rate/mega), fmt.Sprintf("%.2f", ratio), promise}
	}
	table(w, []string{"what", "MB/s", "of bare", "promise"},
		row("bare TLS connection", f.BarePerSecond, 1, ""), row("boot stream", f.PerSecond, f.OfBare, "≥ 50 MB/s"),
		row("boot stream, kept on disk", f.DiskPerSecond, f.DiskOfBare, ""))
}

func printMemory(w io.Writer, c config, f memoryFound) {
	fmt.Fprintf(w, "Memory with %d machines, of which 1 %% are due to boot, in MiB:\n\n", c.Many)
	row := func(what string, heap, rss, peak int64, promise string) []string {
		return []string{what, fmt.Sprint(heap / mib), fmt.Sprint(rss / mib), fmt.Sprint(peak / mib), promise}
	}
	table(w, []string{"what", "heap", "RSS", "peak RSS", "promise"},
		row("boot server", f.Heap, f.RSS, f.PeakRSS, "≤ 400"), row("boot server, kept on disk", f.DiskHeap, f.DiskRSS, f.DiskPeakRSS, "≤ 400"),
		[]string{"manager: view", fmt.Sprint(f.View / mib), "", "", ""}, []string{"manager: journal", fmt.Sprint(f.Journal / mib), "", "", ""})
}

func printCost(w io.Writer, c config, f costFound) {
	fmt.Fprintf(w, "Cost of one change with one boot server:\n\n")
	row := func(machines int, f cost) []string {
		return []string{
			fmt.Sprint(machines), micros(f.ManagerCPU), micros(f.BootServerCPU), fmt.Sprintf("%.1f", f.ManagerMallocs), fmt.Sprintf("%.1f", f.BootServerMallocs),
		}
	}
	table(w, []string{"machines", "CPU, manager", "CPU, boot server", "allocations, manager", "allocations, boot server"}, row(c.Few, f.Few), row(c.Many, f.Many))
	fmt.Fprintf(w, "A change costs %.2f of the processor time with %d machines of what it costs with %d (manager %.2f, boot server %.2f), and %.2f of the allocations (promise: ≤ 1.2).\n\n",
		f.CPU, c.Many, c.Few, f.ManagerCPU, f.BootServerCPU, f.Mallocs)
}

func printVisible(w io.Writer, c config, all []visibleFound) {
	fmt.Fprintf(w, "Changes visible at boot servers, at %d changes a second for %v:\n\n", c.Rate, c.Duration)
	lines := [][]string{{"boot servers", "processes", "machines", "changes/s", "seen", "p50", "p99", "worst", "promise", "cores, manager", "cores, boot servers"}}
	for _, f := range all {
		promise := ""
		if f.BootServers <= ownProcess {
			promise = "p99 ≤ 100 ms"
		}
		lines = append(lines, []string{
			fmt.Sprint(f.BootServers), fmt.Sprint(f.Processes), fmt.Sprint(f.Machines), fmt.Sprintf("%.0f", f.PerSecond), fmt.Sprintf("%d of %d", f.Seen, f.Expected),
			millis(f.P50), millis(f.P99), millis(f.Worst), promise, fmt.Sprintf("%.2f", f.ManagerCores), fmt.Sprintf("%.2f", f.BootServerCores),
		})
	}
	table(w, lines...)
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
