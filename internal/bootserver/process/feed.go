package process

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// feed puts records into the view that machines are answered from. The view counts once a manager has sent everything, or while one from
// disk is young enough. It implements bootstream.Applier.
type feed struct {
	views *records.Views
	// base is our own URL, images is where images are served elsewhere; empty: nowhere.
	base, images string
	// defaultUKI is what unknown machines boot over UEFI HTTP, defaultPath is its path if it is of an image that we have: it is served from here
	// then, as it is by managers. Records come one after the other.
	defaultUKI  atomic.Pointer[string]
	defaultPath string
	// refused counts records that could not be used.
	refused atomic.Uint64

	mu sync.Mutex
	// synced: a manager has sent everything since the start. accepted: what is on disk counts until then.
	synced, accepted bool
}

// Apply implements bootstream.Applier.
func (f *feed) Apply(r *streampb.Record) error {
	err := f.views.Apply(r)
	if err != nil {
		f.refused.Add(1)
		return err
	}
	if r.GetKey() == defaultImage {
		f.defaultPath = pathOfUKI(r.GetImage())
	}
	f.setDefaultUKI(r.GetKey())
	return nil
}

// Delete implements bootstream.Applier.
func (f *feed) Delete(key string) {
	f.views.Delete(key)
	if key == defaultImage {
		f.defaultPath = ""
	}
	f.setDefaultUKI(key)
}

// Keys of what decides about the default UKI: the settings, and the image that managers pin for it.
const settingsKey, defaultImage = "Settings", "Image/" + registry.DefaultUKIOwner

func (f *feed) setDefaultUKI(changed string) {
	if changed != settingsKey && changed != defaultImage {
		return
	}
	url := f.views.DefaultUKI()
	if base, ours := strings.CutSuffix(url, f.defaultPath); ours && f.defaultPath != "" && (f.images == "" || base != f.images) {
		url = f.base + f.defaultPath
	}
	f.defaultUKI.Store(&url)
}

// pathOfUKI is where the UKI of an image is served; empty: it has none.
func pathOfUKI(image *streampb.Image) string {
	uki := image.GetUki()
	if uki == nil {
		return ""
	}
	return registry.FileURL("", registry.UKIFile, registry.Plan{Registry: image.GetRegistry(), Repository: image.GetRepository()}, registry.Layer{Digest: uki.GetDigest()})
}

// getDefaultUKI is for the boot server.
func (f *feed) getDefaultUKI() string {
	if url := f.defaultUKI.Load(); url != nil {
		return *url
	}
	return ""
}

// SetSynced implements bootstream.Applier.
func (f *feed) SetSynced(synced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = synced
	f.views.SetSynced(f.synced || f.accepted)
}

// accept says whether the view from disk counts.
func (f *feed) accept(accepted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted = accepted
	f.views.SetSynced(f.synced || f.accepted)
}

// watchAge ends the use of a view from disk that has become too old before a manager came.
func (p *process) watchAge(ctx context.Context) error {
	ticker := p.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if p.status.now.Load().Synced {
				return nil // what a manager has sent stays, and readiness says how old it is
			}
			p.feed.accept(p.status.fresh())
		}
	}
}
