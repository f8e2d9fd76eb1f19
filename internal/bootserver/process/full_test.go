package process

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
)

// partition is a disk that can be full.
type partition struct{ full atomic.Bool }

func (p *partition) wrap(f sealed.File) sealed.File { return &partitioned{f, p} }

type partitioned struct {
	sealed.File
	on *partition
}

func (f *partitioned) WriteAt(b []byte, at int64) (int, error) {
	if f.on.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

// value is that of a metric without labels.
func (b *running) value(name string) float64 {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return number(family.GetMetric()[0])
		}
	}
	b.t.Fatalf("there is no %s", name)
	return 0
}

func number(m *dto.Metric) float64 { return m.GetGauge().GetValue() + m.GetCounter().GetValue() }

// TestAFullDisk: machines are answered, the manager and the metrics say that nothing is kept, and it is kept when there is room again. The disk
// may be full from the start.
func TestAFullDisk(t *testing.T) {
	for name, fromTheStart := range map[string]bool{"from the start": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			p := newPKI(t)
			m := p.startManager(loopback.Free(p.t), 7, time.Hour)
			disk := &partition{}
			disk.full.Store(fromTheStart)
			o := p.options(m.address)
			o.ViewKeyFile, o.wrap = keyFile(t, viewKey), disk.wrap
			b := startBootServer(t, o)
			await.True(t, "a manager", func() bool { return b.get("/readyz").status == 200 })
			disk.full.Store(true)
			m.view.Put(tenants(t, 7))
			await.True(t, "the boot of the machine", b.boots)
			await.True(t, "the metric", func() bool { return b.value("farrier_boot_stream_view_unkept") == 1 })
			told := func(kept bool) func() bool {
				return func() bool {
					servers := m.server.BootServers()
					if len(servers) != 1 {
						return false
					}
					return strings.Contains(strings.Join(servers[0].Health.GetProblems(), " "), "no room on its disk") != kept
				}
			}
			await.True(t, "the manager hears of it", told(false))
			disk.full.Store(false)
			await.True(t, "the metric", func() bool { return b.value("farrier_boot_stream_view_unkept") == 0 })
			await.True(t, "the manager hears of it", told(true))
			if err := b.stop(); err != nil {
				t.Fatal(err)
			}
			m.stop()
			o.ServeStale = time.Hour
			if b = startBootServer(t, o); !b.boots() {
				t.Error("what was kept in the end is not served")
			}
		})
	}
}

// TestMetrics: what is measured is what is.
func TestMetrics(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	b := startBootServer(t, p.options(m.address))
	await.True(t, "the boot of the machine", b.boots)
	await.True(t, "readiness", func() bool { return b.value("farrier_boot_server_ready") == 1 })
	for name, want := range map[string]float64{"farrier_boot_stream_connected": 1, "farrier_boot_stream_records": 1, "farrier_boot_stream_records_refused_total": 0} {
		if got := b.value(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	now := float64(time.Now().Unix())
	for _, name := range []string{
		"farrier_boot_stream_heard_timestamp_seconds", "farrier_boot_stream_secrets_until_timestamp_seconds", "farrier_boot_stream_certificate_expiry_timestamp_seconds",
	} {
		if got := b.value(name); got < now-60 || got > now+2*3600 {
			t.Errorf("%s is %v, and now is %v", name, got, now)
		}
	}
	m.stop()
	await.True(t, "the manager is away", func() bool { return b.value("farrier_boot_stream_connected") == 0 })
}
