package records

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/cache/bounded"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Views are what a boot server answers from. Records of one key are applied one after the other, those of several by anybody at any
// time. What is nil is not kept: records of it are taken and forgotten.
type Views struct {
	Machines  *bootview.View
	Profiles  *profile.View
	Instances *bootview.Instances
	Blobs     Blobs

	payloads  payloads
	templates templates
	// words are texts that many machines have.
	words *bounded.Cache[string, string]
	// defaultUKI is nil until there are settings.
	defaultUKI atomic.Pointer[string]
}

// Blobs keeps the layers of images that machines are going to boot; blobcache.Cache does.
type Blobs interface {
	Pin(owner string, pin registry.Pin) error
	Unpin(owner string)
}

// maxWords bounds how many texts are remembered so that they are kept once.
const maxWords = 4096

// NewViews returns empty views that are not synchronised.
func NewViews(machines *bootview.View, profiles *profile.View, instances *bootview.Instances, blobs Blobs) *Views {
	return &Views{
		Machines: machines, Profiles: profiles, Instances: instances, Blobs: blobs, words: bounded.NewCache[string, string](maxWords),
	}
}

// SetSynced reports whether everything that there is has been applied. Until then nothing is known of any machine.
func (v *Views) SetSynced(synced bool) {
	if v.Machines != nil {
		v.Machines.SetSynced(synced)
	}
	if v.Profiles != nil {
		v.Profiles.SetSynced(synced)
	}
	if v.Instances != nil {
		v.Instances.SetSynced(synced)
	}
}

// DefaultUKI is the URL of what unknown machines boot over UEFI HTTP; empty: nothing.
func (v *Views) DefaultUKI() string {
	if url := v.defaultUKI.Load(); url != nil {
		return *url
	}
	return ""
}

var errForeignKey = errors.New("the key is one of another kind")

// Apply makes what a record says count. An error says why the record cannot be used; what there was of its key stays then. The views
// keep the bytes of the record. A record of which this version does not know the body is none of its business, and no error.
func (v *Views) Apply(r *streampb.Record) error {
	kind, name := cutKey(r.GetKey())
	var err error
	switch body := r.GetBody().(type) {
	case *streampb.Record_Deleted:
		v.Delete(r.GetKey())
	case *streampb.Record_Machine:
		err = v.machine(kind, name, r, body.Machine)
	case *streampb.Record_Profile:
		err = v.profile(kind, name, r.GetVersion(), body.Profile)
	case *streampb.Record_Assignment:
		err = v.assignment(kind, name, r.GetVersion(), body.Assignment)
	case *streampb.Record_Instance:
		err = v.instance(kind, name, r.GetVersion(), body.Instance)
	case *streampb.Record_Image:
		err = v.image(kind, name, r.GetVersion(), body.Image)
	case *streampb.Record_Settings:
		err = v.settings(r.GetKey(), body.Settings)
	default:
		if r == nil || len(r.ProtoReflect().GetUnknown()) == 0 {
			err = errors.New("it has no body")
		}
	}
	if err != nil {
		return fmt.Errorf("record %.256q: %w", r.GetKey(), err)
	}
	return nil
}

// Delete removes what there is of a key; nothing is no error.
func (v *Views) Delete(key string) {
	kind, name := cutKey(key)
	namespace, inNamespace, _ := cutName(name)
	switch {
	case isMachine(kind) && v.Machines != nil:
		v.Machines.Delete(key)
	case kind == kindProfile && v.Profiles != nil:
		v.Profiles.SetProfile(namespace, inNamespace, nil)
	case kind == kindBefore && v.Profiles != nil:
		v.Profiles.SetProfileBefore(namespace, inNamespace, nil)
	case kind == kindAssignment && v.Profiles != nil:
		v.Profiles.Delete(namespace, inNamespace)
	case kind == kindInstance && v.Instances != nil:
		v.Instances.Delete(name)
	case kind == kindImage && v.Blobs != nil:
		v.Blobs.Unpin(name)
	case key == kindSettings:
		v.apply(settings{})
	}
}

// word returns a text that many machines have, which is kept once.
func (v *Views) word(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := v.words.Get(s); ok {
		return known
	}
	v.words.Add(s, s)
	return s
}

// settings are what all boot servers share.
type settings struct {
	defaultUKI string
	signer     *profile.Signer
}

func (v *Views) apply(s settings) {
	v.defaultUKI.Store(&s.defaultUKI)
	if v.Profiles != nil {
		v.Profiles.SetSigner(s.signer)
	}
}
