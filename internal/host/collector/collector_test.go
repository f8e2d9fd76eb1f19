package collector

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/host/meminfo"
)

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		share  Share
		live   uint64
		memory uint64
		want   int
	}{
		{Frugal, 0, 0, 400},
		{Frugal, 1 * mib, 0, 400},
		{Frugal, 32 * mib, 0, 200},
		{Frugal, 64 * mib, 0, 100},
		{Frugal, 128 * mib, 0, 50},
		{Frugal, 192 * mib, 0, 33},
		{Frugal, 1024 * mib, 0, 33},
		{Frugal, 4096 * mib, 0, 33},
		{Frugal, 1 << 40, 0, 33},
		{Frugal, 1 << 62, 0, 33},
		{300, 1 * mib, 0, 400},
		{300, 96 * mib, 0, 66},
		{300, 100 * mib, 0, 76},
		{300, 256 * mib, 0, 212},
		{300, 400 * mib, 0, 244},
		{300, 1 << 39, 0, 299},
		{300, 1 << 62, 0, 300},
		{300, 400 * mib, 24 << 30, 244},
		{300, 4096 * mib, 24 << 30, 200}, // both together are half of the memory
		{300, 4096 * mib, 64 << 30, 294},
		{300, 4096 * mib, 10 << 30, 33}, // and where that is little, the smaller share
		{300, 4096 * mib, 1 << 30, 33},
		{Frugal, 4096 * mib, 1 << 30, 33},
	} {
		if got := tc.share.percent(tc.live, tc.memory); got != tc.want {
			t.Errorf("share %d, %d MiB live of %d MiB: %d percent, want %d", tc.share, tc.live/mib, tc.memory/mib, got, tc.want)
		}
	}
}

// process is one whose collections a test decides.
type process struct {
	rule
	time  time.Time
	size  uint64
	total uint64 // allocated
	told  []int
	given int
	alarm func()
	at    time.Time
}

func newProcess(share Share) *process {
	p := &process{time: time.Unix(0, 0), size: 256 << 20}
	p.rule = rule{
		share: share, live: func() uint64 { return p.size }, allocated: func() uint64 { return p.total }, now: func() time.Time { return p.time },
		set: func(percent int) { p.told = append(p.told, percent) }, giveBack: func() { p.given++; p.collected() },
		later: func(d time.Duration, f func()) func() bool {
			p.alarm, p.at = f, p.time.Add(d)
			return func() bool { p.alarm = nil; return true }
		},
	}
	return p
}

// pass lets time pass, and what is due happen.
func (p *process) pass(d time.Duration) {
	if p.time = p.time.Add(d); p.alarm != nil && !p.time.Before(p.at) {
		due := p.alarm
		p.alarm = nil
		due()
	}
}

// TestABusyProcessGivesMemoryBackWhenItIsQuiet: while collections follow each other, garbage may be its share; ten seconds later
// it is Frugal's, and the rest is returned, once.
func TestABusyProcessGivesMemoryBackWhenItIsQuiet(t *testing.T) {
	p := newProcess(300)
	for range 3 {
		p.collected()
		p.pass(quietAfter - time.Second)
	}
	if !slices.Equal(p.told, []int{212}) || p.given != 0 {
		t.Fatalf("busy: told %v, gave back %d times", p.told, p.given)
	}
	p.pass(time.Second)
	p.pass(time.Hour)
	p.collected()
	if !slices.Equal(p.told, []int{212, 33}) || p.given != 1 {
		t.Fatalf("quiet: told %v, gave back %d times", p.told, p.given)
	}
	p.pass(time.Second)
	p.collected()
	if !slices.Equal(p.told, []int{212, 33, 212}) {
		t.Fatalf("busy again: told %v", p.told)
	}
}

// TestACollectionInTimeKeepsTheMemory: an alarm that a collection has overtaken is none.
func TestACollectionInTimeKeepsTheMemory(t *testing.T) {
	p := newProcess(300)
	p.collected()
	late := p.alarm
	p.pass(quietAfter - time.Second)
	p.collected()
	if late(); p.given != 0 || !slices.Equal(p.told, []int{212}) {
		t.Errorf("told %v, gave back %d times", p.told, p.given)
	}
}

// TestAProcessThatIsCollectedSeldomIsBusyAllTheSame as long as it allocates what the smaller share would be collected for: it gives nothing back, and is not
// told anything new.
func TestAProcessThatIsCollectedSeldomIsBusyAllTheSame(t *testing.T) {
	p := newProcess(300)
	p.collected()
	for range 10 {
		p.total += p.size / 3
		p.pass(quietAfter)
	}
	p.collected()
	if !slices.Equal(p.told, []int{212}) || p.given != 0 {
		t.Fatalf("busy: told %v, gave back %d times", p.told, p.given)
	}
	p.total += p.size/3 - 1
	p.pass(quietAfter)
	if !slices.Equal(p.told, []int{212, 33}) || p.given != 1 {
		t.Fatalf("quiet: told %v, gave back %d times", p.told, p.given)
	}
}

// TestALargeHeapHasLongerToBeQuiet: to collect four GiB takes seconds, so one collection in a minute is many.
func TestALargeHeapHasLongerToBeQuiet(t *testing.T) {
	p := newProcess(300)
	p.size = 4 << 30
	p.collected()
	p.pass(time.Minute)
	if p.given != 0 {
		t.Fatal("it gave back what it will need within the next minute")
	}
	p.pass(20 * time.Second)
	if !slices.Equal(p.told, []int{294, 33}) || p.given != 1 {
		t.Fatalf("quiet: told %v, gave back %d times", p.told, p.given)
	}
	p.pass(79 * time.Second) // more than a GiB of garbage later
	p.collected()
	if !slices.Equal(p.told, []int{294, 33, 294}) {
		t.Fatalf("busy again: told %v", p.told)
	}
}

// TestAFrugalProcessKnowsNoHurry: what Go is told follows the size of its heap alone, and changes that do not matter are not told.
func TestAFrugalProcessKnowsNoHurry(t *testing.T) {
	p := newProcess(Frugal)
	for _, size := range []uint64{300 << 20, 40 << 20, 41 << 20, 100 << 20, 101 << 20, 256 << 20, 500 << 20, 30 << 20} {
		p.size = size
		p.collected()
		p.pass(time.Millisecond)
	}
	if want := []int{33, 160, 64, 33, 213}; !slices.Equal(p.told, want) || p.alarm != nil {
		t.Errorf("told %v, want %v; an alarm is set: %v", p.told, want, p.alarm != nil)
	}
}

// TestTheRuleFollowsEachCollection of the real runtime.
func TestTheRuleFollowsEachCollection(t *testing.T) {
	var live atomic.Uint64
	told := make(chan int, 10)
	live.Store(256 << 20)
	follow(&rule{share: Frugal, live: live.Load, allocated: allocated, now: time.Now, set: func(percent int) {
		select {
		case told <- percent:
		default: // the test has ended, and the rule follows the runtime for ever
		}
	}})
	for i, want := range []int{33, 100, 50, 200} {
		if got := afterCollections(told); got != want {
			t.Fatalf("size %d: told %d percent, want %d", i, got, want)
		}
		live.Store([]uint64{64 << 20, 128 << 20, 32 << 20, 32 << 20}[i])
	}
}

// afterCollections collects until the rule has told something: a collection that begins before the cleanup of the last one has ended
// does not concern it.
func afterCollections(told <-chan int) int {
	for {
		select {
		case percent := <-told:
			return percent
		default:
			runtime.GC()
		}
	}
}

func TestTheRuntimeTellsOfItsHeap(t *testing.T) {
	for _, metric := range []string{liveMetric, allocatedMetric} {
		if _, known := sampled(metric); !known {
			t.Error("this runtime does not tell " + metric)
		}
	}
}

func TestDecide(t *testing.T) {
	const host = "MemTotal:       2000000 kB\nMemFree: 1 kB\n"
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		env         map[string]string
		group, host string
		err         error // of the control group
		want        Settings
		fail        bool
	}{
		"no cgroup":                        {host: host, err: fs.ErrNotExist, want: Settings{Share: 300, Memory: 2_048_000_000}},
		"not ours to read":                 {host: host, err: fs.ErrPermission, want: Settings{Share: 300, Memory: 2_048_000_000}},
		"nothing is known":                 {err: fs.ErrNotExist, want: Settings{Share: Frugal}},
		"a host that says nothing":         {host: "MemFree: 1 kB\n", err: fs.ErrNotExist, want: Settings{Share: Frugal}},
		"a host that says nonsense":        {host: "MemTotal: much\n", err: fs.ErrNotExist, want: Settings{Share: Frugal}},
		"a host that says less":            {host: "MemTotal:\n", err: fs.ErrNotExist, want: Settings{Share: Frugal}},
		"a host that says too much":        {host: "MemTotal: 9223372036854775807 kB\n", err: fs.ErrNotExist, want: Settings{Share: Frugal}},
		"no limit":                         {host: host, group: "max\n", want: Settings{Share: 300, Memory: 2_048_000_000}},
		"a limit":                          {host: host, group: "1000000000\n", want: Settings{Share: 300, Memory: 900_000_000, Limit: 900_000_000}},
		"a limit, and nothing of the host": {group: "1000000000\n", want: Settings{Share: 300, Memory: 900_000_000, Limit: 900_000_000}},
		"a limit beyond the host":          {host: host, group: "10000000000\n", want: Settings{Share: 300, Memory: 2_048_000_000, Limit: 9_000_000_000}},
		"a limit of nothing":               {group: "0", want: Settings{Share: Frugal}},
		"beyond 64 bits":                   {group: "99999999999999999999", want: Settings{Share: Frugal}},
		"GOGC is set":                      {env: map[string]string{"GOGC": "100"}, group: "1000"},
		"GOMEMLIMIT is set":                {env: map[string]string{"GOMEMLIMIT": "1GiB"}, group: "1000"},
		"what cannot be right":             {err: broken, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decide(
				func(memory int64) Share {
					if memory > 0 {
						return 300
					}
					return Frugal
				},
				func(key string) (string, bool) { value, ok := tc.env[key]; return value, ok },
				func(path string) ([]byte, error) {
					switch {
					case path != meminfo.Path:
						return []byte(tc.group), tc.err
					case tc.host == "":
						return nil, fs.ErrNotExist
					}
					return []byte(tc.host), nil
				})
			if got != tc.want || (err != nil) != tc.fail {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}
