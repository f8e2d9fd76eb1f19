package firmwareversion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// maxHops bounds how many images one update may need.
const maxHops = 8

// hop is one installation on the way to the version that is asked for: an image, and the version that the firmware has with it.
type hop struct {
	// image names the FirmwareImage whose image it is; empty: it is that of the object.
	image   string
	version string
	source  metalv1.ImageSpec
	// known names the FirmwareImage that is about the image, empty if none is; requires and rollback are what it says.
	known    string
	requires *farrierv1.FirmwareRequirement
	rollback *farrierv1.FirmwareRollback
}

// field names a field of the image in messages.
func (h *hop) field(name string) string {
	if h.image == "" {
		return "spec.image." + name
	}
	return fmt.Sprintf("FirmwareImage %q: spec.image.%s", h.image, name)
}

// catalog is what is known of images, sorted by name.
type catalog []farrierv1.FirmwareImage

// catalog reads it. What it returns belongs to the cache.
func (r *Reconciler) catalog(ctx context.Context) (catalog, error) {
	var list farrierv1.FirmwareImageList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the FirmwareImages: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b farrierv1.FirmwareImage) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// named is the image of a FirmwareImage.
func (c catalog) named(name string) (hop, bool) {
	i, found := slices.BinarySearchFunc(c, name, func(f farrierv1.FirmwareImage, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return hop{}, false
	}
	f := &c[i]
	return hop{image: f.Name, version: f.Spec.Version, source: f.Spec.Image, known: f.Name, requires: f.Spec.Requires, rollback: f.Spec.Rollback}, true
}

// asked is the image that an object asks for, with what is known of it.
func (c catalog) asked(spec *metalv1.VersionTemplate) hop {
	h := hop{version: spec.Version, source: spec.Image}
	uri, _, _ := strings.Cut(spec.Image.URI, "#")
	for i := range c {
		f := &c[i].Spec
		if of, _, _ := strings.Cut(f.Image.URI, "#"); of == uri && bmc.CompareVersions(f.Version, spec.Version) == 0 {
			h.known, h.requires, h.rollback = c[i].Name, f.Requires, f.Rollback
			break
		}
	}
	return h
}

// next is what is installed first on the way to an image, over a version: the image itself, or one that has to come before it. Its error is a Terminal.
//
// Each image that comes before another has the version that the other requires, so the firmware comes closer with every hop, and the way is found
// anew from what the BMC says after each.
func (c catalog) next(to hop, installed string) (hop, error) {
	h := to
	for range maxHops {
		needs := h.requires
		if needs == nil || bmc.CompareVersions(installed, needs.Version) >= 0 {
			return h, nil
		}
		before, found := c.named(needs.Image)
		switch {
		case !found:
			return h, reconcileerror.Terminalf(reasonFirmwareImageNotFound, "FirmwareImage %q requires version %q, and FirmwareImage %q, which should come first, does not exist", h.known, needs.Version, needs.Image)
		case bmc.CompareVersions(before.version, needs.Version) < 0:
			return h, reconcileerror.Terminalf(reasonInvalidImage, "FirmwareImage %q requires version %q, and FirmwareImage %q, which should come first, has version %q", h.known, needs.Version, before.image, before.version)
		}
		h = before
	}
	return h, reconcileerror.Terminalf(reasonInvalidImage, "FirmwareImage %q: from version %q, more than %d images would have to come first", to.known, installed, maxHops)
}

// choose finds out what is installed next: what the step under way is about, or what follows from the version that was read last.
func (r *Reconciler) choose(ctx context.Context, v *view) error {
	v.hop = v.goal
	if v.problem != nil || !v.publishes() {
		return nil
	}
	switch p, l := v.progress, v.looked; {
	case p.active() && p.Step != stepBegin:
		v.resume(p)
	case l != nil && l.err == nil && l.asked == v.asked:
		v.hop, v.problem = v.catalog.next(v.goal, l.version)
	}
	if v.problem == nil {
		v.image, v.problem = imageOf(&v.hop)
	}
	if v.problem != nil {
		return nil
	}
	v.username, v.password, v.problem = credentialsOf(ctx, r.Client, &v.hop, r.Namespace)
	if v.problem != nil && reasonOf(v.problem, "") == "" {
		return fmt.Errorf("credentials of the image: %w", v.problem)
	}
	return nil
}

// resume takes up the hop that is under way.
func (v *view) resume(p *progress) {
	if p.Image == v.goal.image {
		return
	}
	h, found := v.catalog.named(p.Image)
	if !found {
		v.problem = reconcileerror.Terminalf(reasonFirmwareImageNotFound, "FirmwareImage %q was deleted while it was being installed", p.Image)
	}
	v.hop, v.hop.image, v.hop.version = h, p.Image, p.To
}

// before says which image comes before the one that is asked for.
func (v *view) before() string {
	if v.hop.image == v.goal.image {
		return ""
	}
	return fmt.Sprintf("; FirmwareImage %q brings version %q first", v.hop.image, v.hop.version)
}

// arrived reports whether a version is the one that the present hop brings.
func (v *view) arrived(version string) bool {
	return isVersion(version, v.hop.version)
}

// landed ends a hop whose version is there: all is done, or the next one begins.
func (v *view) landed(p *plan) {
	if v.hop.image == v.goal.image {
		p.progress = v.progress.next(stepFinish, v.now)
		return
	}
	p.progress = v.progress.attempt(v.now)
	p.progress.Reason, p.progress.Message = "", ""
}
