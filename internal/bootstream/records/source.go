package records

import (
	"sync"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Sink takes records in the order of the changes. It must be quick and must not wait for anybody: its caller holds the lock of a view. It owns the
// records, but what their bytes fields hold is shared and must not be changed.
type Sink interface {
	// Put is given what there is of a key from now on; site says where, empty: at the default site, booturl.EverySite: everywhere.
	Put(site string, r *streampb.Record)
	// Delete says that there is nothing of a key any longer. There may have been nothing before.
	Delete(key string)
}

// Source makes records of what changes in the views that it observes: at most one of each kind.
type Source struct {
	sink Sink
	// templates are the texts of scripts, so that the records of machines that have the same script share it.
	templates *bounded.Cache[string, []byte]
	// profiles are the revisions of which there is a record, by key. The lock of the view guards them.
	profiles map[string]*profile.Profile

	mu       sync.Mutex
	settings streampb.Settings
}

// maxTemplates bounds how many texts of scripts are remembered: one for each image and what else goes into them.
const maxTemplates = 1024

// NewSource returns a source that observes nothing yet.
func NewSource(sink Sink) *Source {
	return &Source{sink: sink, templates: bounded.NewCache[string, []byte](maxTemplates), profiles: map[string]*profile.Profile{}}
}

// ObserveView has every entry of a view told from now on. It is called before the first one.
func (s *Source) ObserveView(v *bootview.View) {
	v.Observe(bootview.Observer[bootview.Entry]{
		Put:     func(e bootview.Entry) { s.sink.Put(text(e.Site), s.machine(&e)) },
		Deleted: s.sink.Delete,
	})
}

// ObserveProfiles has every profile and every assignment of a view told from now on. It is called before the first of them.
func (s *Source) ObserveProfiles(v *profile.View) {
	v.ObserveProfiles(func(namespace, name string, now, before *profile.Profile) {
		// The one before first: whoever has the new one then serves the configs of the old one as well.
		s.profile(kindBefore+"/"+namespace+"/"+name, before)
		s.profile(OfProfile(namespace, name), now)
	})
	v.Observe(
		func(a *assignment.Assignment) { s.sink.Put(booturl.EverySite, assignmentRecord(a)) },
		func(namespace, name string) { s.sink.Delete(OfAssignment(namespace, name)) },
	)
}

// profile tells of a revision, if it is not the one that was told of last; nil: there is none.
func (s *Source) profile(key string, p *profile.Profile) {
	told := s.profiles[key]
	switch p {
	case told:
	case nil:
		delete(s.profiles, key)
		s.sink.Delete(key)
	default:
		s.profiles[key] = p
		s.sink.Put(booturl.EverySite, profileRecord(key, p))
	}
}

// ObserveInstances has every instance told from now on. It is called before the first one.
func (s *Source) ObserveInstances(x *bootview.Instances) {
	x.Observe(bootview.Observer[*bootview.Instance]{
		Put:     func(i *bootview.Instance) { s.sink.Put(text(i.Site), instanceRecord(i)) },
		Deleted: func(name string) { s.sink.Delete(kindInstance + "/" + name) },
	})
}

// Pins are the images that somebody boots; blobcache.Cache keeps them.
type Pins interface {
	ObservePins(pinned func(owner string, pin registry.Pin), unpinned func(owner string))
}

// ObservePins has every pin told from now on. It is called before the first one.
func (s *Source) ObservePins(p Pins) {
	p.ObservePins(
		func(owner string, pin registry.Pin) { s.sink.Put(text(pin.Site), imageRecord(owner, pin)) },
		func(owner string) { s.sink.Delete(OfImage(owner)) },
	)
}

// SetDefaultUKI tells the URL of what machines boot over UEFI HTTP that nobody has a configuration for; empty: nothing.
func (s *Source) SetDefaultUKI(url string) {
	s.set(func(settings *streampb.Settings) { settings.DefaultUkiUrl = text(url) })
}

// SetSigner tells with what URLs of configs are signed; nil: they are not.
func (s *Source) SetSigner(signer *profile.Signer) {
	s.set(func(settings *streampb.Settings) {
		settings.ConfigUrlKey, settings.ConfigUrlTtl = nil, nil
		if signer != nil {
			settings.ConfigUrlKey, settings.ConfigUrlTtl = signer.Key, durationpb.New(signer.TTL)
		}
	})
}

// set changes the settings. Their record has no version, unlike those that are made of objects: they come from flags and what the manager has
// found out with them, of which no resource version says what is newer. So of two managers the one that a boot server follows is right.
func (s *Source) set(change func(*streampb.Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.settings)
	s.sink.Put(booturl.EverySite, &streampb.Record{Key: kindSettings, Body: &streampb.Record_Settings{Settings: &streampb.Settings{
		DefaultUkiUrl: s.settings.DefaultUkiUrl, ConfigUrlKey: s.settings.ConfigUrlKey, ConfigUrlTtl: s.settings.ConfigUrlTtl,
	}}})
}
