//go:build linux

// Command first-boot measures how long a machine takes from power-on until the discovery image has reported to Farrier, beside the least that a network boot of the same kernel
// can do: dnsmasq, a file server, and an initramfs of busybox that posts one line.
//
// The machine is QEMU's, emulated in software, with the iPXE of its network card. Both sides have one network namespace, and take turns in it. That needs root and the packages
// of hack/e2e-packages.sh; without them nothing is measured, and it says so.
//
//	hack/e2e-packages.sh && go run ./bench/first-boot
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/options"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/result"
	"github.com/farrier-dev/farrier/bench/internal/stats"
)

const (
	name = "first-boot"
	// insideVariable says that this process is in its network namespace.
	insideVariable = "FARRIER_BENCH_NETNS"
	// goal is how many times as long a boot of Farrier may take.
	goal = 1.5
)

type config struct {
	Rounds int    `json:"rounds"`
	Root   string `json:"-"` // of the unpacked packages
	Kernel string `json:"kernel"`
	Out    string `json:"-"`
}

func main() { child.Main(name, nil, run) }

func parseFlags() config {
	var c config
	flag.IntVar(&c.Rounds, "rounds", 5, "rounds; each boots both")
	flag.StringVar(&c.Root, "root", "bin/e2e", "folder in which hack/e2e-packages.sh has unpacked kernel and busybox")
	options.Out(&c.Out, name)
	smoke := options.Smoke()
	flag.Parse()
	if *smoke {
		c.Rounds, c.Out = 1, ""
	}
	return c
}

func run(ctx context.Context) error {
	c := parseFlags()
	if problem := missing(&c); problem != "" {
		fmt.Println("Not measured: " + problem)
		return nil
	}
	if os.Getenv(insideVariable) == "" {
		return inside(ctx)
	}
	started := result.Begin(name, c)
	folder, err := os.MkdirTemp("", "first-boot-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	b := &bench{config: c, folder: folder}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	found, err := b.measure(ctx)
	if err != nil {
		return err
	}
	found.print()
	return started.Finish(c.Out, found)
}

// missing says what is not there that a boot needs, and finds the kernel.
func missing(c *config) string {
	kernels, _ := filepath.Glob(filepath.Join(c.Root, "boot", "vmlinuz-*-cloud-amd64"))
	if len(kernels) == 0 || !exists(filepath.Join(c.Root, "bin", "busybox")) {
		return "hack/e2e-packages.sh has unpacked no kernel and no busybox in " + c.Root
	}
	slices.Sort(kernels)
	c.Kernel = filepath.Base(kernels[len(kernels)-1])
	for _, needed := range []string{"qemu-system-x86_64", "dnsmasq", "ip"} {
		if _, err := exec.LookPath(needed); err != nil {
			return needed + " is not installed: see hack/e2e-packages.sh"
		}
	}
	if os.Geteuid() != 0 {
		return "a network namespace needs root"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// inside runs this program again, in a network namespace of its own.
func inside(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// findings are seconds from power-on to the report, round by round.
type findings struct {
	Farrier []float64 `json:"farrierSeconds"`
	Plain   []float64 `json:"plainSeconds"`
	Ratio   float64   `json:"ratio"`
	Goal    float64   `json:"goal"`
}

func (f findings) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "power-on to report\tmedian\tleast\tmost")
	for _, row := range []struct {
		name    string
		seconds []float64
	}{{"Farrier", f.Farrier}, {"dnsmasq and busybox", f.Plain}} {
		fmt.Fprintf(w, "%s\t%.1f s\t%.1f s\t%.1f s\n", row.name, stats.Median(row.seconds), slices.Min(row.seconds), slices.Max(row.seconds))
	}
	_ = w.Flush()
	fmt.Printf("\nFarrier takes %.2f times as long (goal: at most %.1f; median of the rounds).\n", f.Ratio, f.Goal)
}

// bench is what both sides share.
type bench struct {
	config
	folder          string
	farrier, kernel string
}

func (b *bench) prepare(ctx context.Context) (err error) {
	if b.Root, err = filepath.Abs(b.Root); err != nil {
		return err
	}
	b.kernel = filepath.Join(b.Root, "boot", b.Kernel)
	for _, command := range []string{"farrier", "metalprobe"} { // which it looks for beside itself
		if b.farrier, err = program.Build(ctx, b.folder, "github.com/farrier-dev/farrier/cmd/"+command); err != nil {
			return err
		}
	}
	b.farrier = filepath.Join(b.folder, "farrier")
	return makeSegment(ctx)
}

// measure boots both sides in turns, each first in every other round.
func (b *bench) measure(ctx context.Context) (f findings, err error) {
	f.Goal = goal
	var ratios []float64
	for round := range b.Rounds {
		sides := []func(context.Context, string) (float64, error){b.bootFarrier, b.bootPlain}
		seconds := make([]float64, len(sides))
		for i := range sides {
			side := (i + round) % len(sides)
			folder := filepath.Join(b.folder, fmt.Sprintf("%d-%d", round, side))
			if err := os.Mkdir(folder, 0o755); err != nil {
				return f, err
			}
			if seconds[side], err = sides[side](ctx, folder); err != nil {
				return f, errors.Join(fmt.Errorf("round %d", round+1), err)
			}
		}
		f.Farrier, f.Plain = append(f.Farrier, seconds[0]), append(f.Plain, seconds[1])
		ratios = append(ratios, seconds[0]/seconds[1])
	}
	f.Ratio = stats.Median(ratios)
	return f, nil
}
