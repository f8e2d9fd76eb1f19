package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/stats"
	"github.com/farrier-dev/farrier/bench/internal/streaming"
)

// bench is the processes of one run: managers of a small and of a large site.
type bench struct {
	config
	folder       string
	certificates streaming.Certificates
	few, many    *site
	disks        int
}

// site is a manager's process.
type site struct {
	*child.Process
	managerAnswer
}

func newBench(ctx context.Context, c config) (*bench, error) {
	folder, err := os.MkdirTemp("", "farrier-bench-stream-")
	if err != nil {
		return nil, err
	}
	b := &bench{config: c, folder: folder}
	if b.certificates, err = streaming.Issue(filepath.Join(folder, "pki")); err != nil {
		return nil, err
	}
	if b.few, err = b.startManager(ctx, c.Few); err != nil {
		return nil, err
	}
	b.many, err = b.startManager(ctx, c.Many)
	return b, err
}

func (b *bench) startManager(ctx context.Context, machines int) (*site, error) {
	p, err := child.Start(ctx, roleManager)
	if err != nil {
		return nil, err
	}
	s := &site{Process: p}
	return s, p.Ask(managerRequest{Machines: machines, Certificates: b.certificates.Manager}, &s.managerAnswer)
}

func (b *bench) stop() error { return errors.Join(b.few.Stop(), b.many.Stop()) }

// startBootServers starts a process of boot servers that follow a site, and says how long their snapshots took.
func (b *bench) startBootServers(ctx context.Context, s *site, count int, disk bool) (*child.Process, bootServerAnswer, error) {
	var a bootServerAnswer
	p, err := child.Start(ctx, roleBootServer)
	if err != nil {
		return nil, a, err
	}
	r := bootServerRequest{Certificates: b.certificates.BootServer, Follow: s.Address, Count: count}
	if disk {
		b.disks++
		r.Disk = filepath.Join(b.folder, "view-"+strconv.Itoa(b.disks))
		if err := os.Mkdir(r.Disk, 0o700); err != nil {
			return nil, a, err
		}
	}
	return p, a, p.Ask(r, &a)
}

// snapshotFound is about snapshots of the large site. Rates are bytes of records a second.
type snapshotFound struct {
	Bytes         int64   `json:"bytes"`
	PerSecond     float64 `json:"bytesPerSecond"`
	DiskPerSecond float64 `json:"bytesPerSecondKeptOnDisk"`
	BarePerSecond float64 `json:"bareBytesPerSecond"`
	// OfBare is the median of the ratios of single rounds.
	OfBare     float64 `json:"ofBare"`
	DiskOfBare float64 `json:"keptOnDiskOfBare"`
}

// memoryFound is about the large site, in bytes.
type memoryFound struct {
	Heap    int64 `json:"bootServerHeap"`
	RSS     int64 `json:"bootServerRSS"`
	PeakRSS int64 `json:"bootServerPeakRSS"`
	// Those of a boot server that keeps its view on disk.
	DiskHeap    int64 `json:"bootServerWithDiskHeap"`
	DiskRSS     int64 `json:"bootServerWithDiskRSS"`
	DiskPeakRSS int64 `json:"bootServerWithDiskPeakRSS"`
	// The manager's.
	View    int64 `json:"managerViewHeap"`
	Journal int64 `json:"managerJournalHeap"`
}

// snapshots sends the large site to fresh boot servers, in turns with as many bytes over a bare connection.
func (b *bench) snapshots(ctx context.Context) (snapshotFound, memoryFound, error) {
	size := float64(b.many.Bytes)
	memory := memoryFound{View: b.many.ViewHeap, Journal: b.many.JournalHeap}
	var rates, disks, bares, ofBare, diskOfBare []float64
	for range b.Rounds {
		bare, err := b.bare(ctx)
		if err != nil {
			return snapshotFound{}, memory, err
		}
		plain, plainMemory, err := b.snapshot(ctx, false)
		if err != nil {
			return snapshotFound{}, memory, err
		}
		disk, diskMemory, err := b.snapshot(ctx, true)
		if err != nil {
			return snapshotFound{}, memory, err
		}
		memory.Heap, memory.RSS, memory.PeakRSS = plainMemory.Heap, plainMemory.Used.RSS, plainMemory.Used.PeakRSS
		memory.DiskHeap, memory.DiskRSS, memory.DiskPeakRSS = diskMemory.Heap, diskMemory.Used.RSS, diskMemory.Used.PeakRSS
		rates, disks, bares = append(rates, size/plain.Seconds()), append(disks, size/disk.Seconds()), append(bares, size/bare.Seconds())
		ofBare, diskOfBare = append(ofBare, bare.Seconds()/plain.Seconds()), append(diskOfBare, bare.Seconds()/disk.Seconds())
	}
	return snapshotFound{
		Bytes: b.many.Bytes, PerSecond: stats.Median(rates), DiskPerSecond: stats.Median(disks), BarePerSecond: stats.Median(bares),
		OfBare: stats.Median(ofBare), DiskOfBare: stats.Median(diskOfBare),
	}, memory, nil
}

// bare reads as many bytes as a snapshot has.
func (b *bench) bare(ctx context.Context) (time.Duration, error) {
	p, err := child.Start(ctx, roleBootServer)
	if err != nil {
		return 0, err
	}
	var a bootServerAnswer
	if err := p.Ask(bootServerRequest{Certificates: b.certificates.BootServer, Bare: b.many.Bare, Bytes: b.many.Bytes}, &a); err != nil {
		return 0, err
	}
	return a.Elapsed, p.Stop()
}

// snapshot sends one snapshot, and says what the boot server needs of memory afterwards.
func (b *bench) snapshot(ctx context.Context, disk bool) (took time.Duration, memory bootServerAnswer, err error) {
	p, a, err := b.startBootServers(ctx, b.many, 1, disk)
	if err != nil {
		return 0, memory, err
	}
	if err := p.Ask(bootServerRequest{Memory: true}, &memory); err != nil {
		return 0, memory, err
	}
	return a.Elapsed, memory, p.Stop()
}

// cost is that of one change.
type cost struct {
	ManagerCPU        time.Duration `json:"managerCPUNanoseconds"`
	BootServerCPU     time.Duration `json:"bootServerCPUNanoseconds"`
	ManagerMallocs    float64       `json:"managerAllocations"`
	BootServerMallocs float64       `json:"bootServerAllocations"`
}

// costFound compares the cost of one change at the small site and at the large one.
type costFound struct {
	Few  cost `json:"few"`
	Many cost `json:"many"`
	// The large site, of the small one.
	CPU           float64 `json:"cpuManyOfFew"`
	ManagerCPU    float64 `json:"managerCPUManyOfFew"`
	BootServerCPU float64 `json:"bootServerCPUManyOfFew"`
	Mallocs       float64 `json:"allocationsManyOfFew"`
}

// costs makes bursts of changes at both sites in turns, each with one boot server.
func (b *bench) costs(ctx context.Context) (costFound, error) {
	var found costFound
	sites := []*site{b.few, b.many}
	var followers []*child.Process
	for _, s := range sites {
		p, _, err := b.startBootServers(ctx, s, 1, false)
		if err != nil {
			return found, err
		}
		followers = append(followers, p)
	}
	rounds := make([][]cost, len(sites))
	for round := range b.Rounds + 1 {
		for turn := range sites {
			i := (turn + round) % len(sites)
			c, err := burst(sites[i], followers[i], b.Burst)
			if err != nil {
				return found, err
			}
			if round > 0 { // the first one warms up
				rounds[i] = append(rounds[i], c)
			}
		}
	}
	few, many := mean(rounds[0]), mean(rounds[1])
	found = costFound{
		Few: few, Many: many,
		CPU:           float64(many.ManagerCPU+many.BootServerCPU) / float64(few.ManagerCPU+few.BootServerCPU),
		ManagerCPU:    float64(many.ManagerCPU) / float64(few.ManagerCPU),
		BootServerCPU: float64(many.BootServerCPU) / float64(few.BootServerCPU),
		Mallocs:       (many.ManagerMallocs + many.BootServerMallocs) / (few.ManagerMallocs + few.BootServerMallocs),
	}
	return found, errors.Join(followers[0].Stop(), followers[1].Stop())
}

// burst is the cost of one of many changes.
func burst(s *site, follower *child.Process, count int) (cost, error) {
	var before, after managerAnswer
	var beforeThere, afterThere bootServerAnswer
	if err := errors.Join(s.Ask(managerRequest{}, &before), follower.Ask(bootServerRequest{}, &beforeThere)); err != nil {
		return cost{}, err
	}
	if err := s.Ask(managerRequest{Burst: count}, &after); err != nil {
		return cost{}, err
	}
	if err := follower.Ask(bootServerRequest{Until: after.Counter}, &afterThere); err != nil {
		return cost{}, err
	}
	n := float64(after.Made)
	return cost{
		ManagerCPU:        (after.Used.CPU - before.Used.CPU) / time.Duration(after.Made),
		BootServerCPU:     (afterThere.Used.CPU - beforeThere.Used.CPU) / time.Duration(after.Made),
		ManagerMallocs:    float64(after.Used.Mallocs-before.Used.Mallocs) / n,
		BootServerMallocs: float64(afterThere.Used.Mallocs-beforeThere.Used.Mallocs) / n,
	}, nil
}

// mean is that of all rounds. A median would leave out the garbage collections, of which the large site has one in several rounds.
func mean(rounds []cost) (m cost) {
	n := len(rounds)
	for _, c := range rounds {
		m.ManagerCPU += c.ManagerCPU / time.Duration(n)
		m.BootServerCPU += c.BootServerCPU / time.Duration(n)
		m.ManagerMallocs += c.ManagerMallocs / float64(n)
		m.BootServerMallocs += c.BootServerMallocs / float64(n)
	}
	return m
}
