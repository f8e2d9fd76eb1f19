package firmwareversion

import (
	"errors"
	"fmt"
	"strings"

	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
)

// fetched is how it stands with an image that Farrier fetches itself.
type fetched struct {
	// wanted says that it does: the image has to have a digest, or BMCs get images from Farrier.
	wanted bool
	// image is what was fetched and verified; nil: it is not there. err is why not; nil: it is being fetched.
	image *firmwareimage.Image
	err   error
	// url is where the BMC fetches it from Farrier; empty: it cannot.
	url string
}

// owner is who needs an image, as the store of images is told.
func (i *item) owner() string { return i.kind.Name + "/" + i.GetName() }

// source is the image as the store of images knows it.
func (i image) source() firmwareimage.Source {
	return firmwareimage.Source{URI: i.uri, Digest: i.digest}
}

// fetch has the image fetched where there is something to install from it, before any server is asked for.
func (r *Reconciler) fetch(v *view) {
	owner := v.item.owner()
	v.fetched.wanted = v.problem == nil && (v.image.digest != "" || r.Images.Serves() && firmwareimage.Fetchable(v.image.uri))
	installs, known := v.installs()
	switch {
	case !v.fetched.wanted, known && !installs:
		r.Images.Done(owner)
		return
	case !known:
		return
	}
	source := v.image.source()
	image, there, err := r.Images.Need(owner, firmwareimage.Request{Source: source, Username: v.username, Password: v.password})
	switch {
	case !there:
	case err == nil:
		v.fetched.image, v.fetched.url = &image, r.Images.URL(source)
	case errors.Is(err, firmwareimage.ErrDigest):
		v.fetched.err = reconcileerror.Terminal{Reason: reasonImageDigest, Err: fmt.Errorf("%s: %w", v.hop.field("URI"), err)}
	case errors.Is(err, firmwareimage.ErrTooLarge):
		v.fetched.err = reconcileerror.Terminal{Reason: reasonInvalidImage, Err: fmt.Errorf("%s: %w", v.hop.field("URI"), err)}
	default:
		v.fetched.err = reconcileerror.Terminal{Reason: reasonImageUnavailable, Err: fmt.Errorf("%s: Farrier cannot fetch the image: %w", v.hop.field("URI"), err)}
	}
}

// installs reports whether there is something to install. It is not known before the version was read.
func (v *view) installs() (yes, known bool) {
	l := v.looked
	switch {
	case v.item.target == "", !v.found, v.first != "":
		return false, true
	case v.progress.active():
		return v.progress.Step != stepFinish, true
	case v.progress != nil && v.progress.Asked == v.asked && v.progress.Step == stepFailed:
		return false, true
	case l == nil, l.err != nil, l.asked != v.asked:
		return false, false
	}
	return !v.reached(l.version), true
}

// missing reports whether the image is not there that Farrier fetches.
func (v *view) missing() bool { return v.fetched.wanted && v.fetched.image == nil }

// hopeless reports whether only a person can mend it that the image is not there.
func (f *fetched) hopeless() bool {
	return f.err != nil && reasonOf(f.err, "") != reasonImageUnavailable
}

// wakeForImages has the objects woken whose image is there, or cannot be had.
func (r *Reconciler) wakeForImages() {
	prefix := r.Kind.Name + "/"
	r.Images.Subscribe(func(owner string) {
		if name, ours := strings.CutPrefix(owner, prefix); ours {
			r.Wake.Wake("", name)
		}
	})
}
