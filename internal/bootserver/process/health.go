package process

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
)

// lostFor is how long after the start managers are told that the view of the last run was not used.
const lostFor = time.Hour

// health is what managers are told of us.
func (p *process) health() *streampb.Health {
	now := p.status.now.Load()
	h := &streampb.Health{
		Ready: p.status.ready() == nil, Records: uint64(max(now.Records, 0)), Waiting: uint64(p.outbox.Waiting()), Problems: p.outbox.Problems(),
	}
	h.Unfetched = unfetched(p.blobs.Unfetched())
	if identity := p.certificates.identity.Load(); identity != nil {
		h.CertificateExpires = timestamppb.New(identity.Leaf().NotAfter)
	}
	if now.KeepError != nil {
		h.Problems = append(h.Problems, "the view is not kept on disk: "+now.KeepError.Error())
	}
	if p.disk.lost != "" && p.clock.Since(p.started) < lostFor {
		h.Problems = append(h.Problems, p.disk.lost)
	}
	return h
}

// unfetched are the images that managers are told that we cannot fetch.
func unfetched(images map[string]blobcache.UnfetchedError) []*streampb.Unfetched {
	owners := slices.Sorted(maps.Keys(images)) // so that the same ones are told each time
	owners = owners[:min(len(owners), bootstream.MaxUnfetched)]
	all := make([]*streampb.Unfetched, 0, len(owners))
	for _, owner := range owners {
		all = append(all, &streampb.Unfetched{Key: records.OfImage(owner), Reason: images[owner].Error()})
	}
	return all
}

// seconds is since 1970; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
