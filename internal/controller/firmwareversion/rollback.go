package firmwareversion

import (
	"fmt"
	"time"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// rollback is how the firmware goes back from an update, as that was known when it began.
type rollback struct {
	// Method is empty where no FirmwareImage is about the image, or says nothing of it; Image is what Reflash installs.
	Method farrierv1.RollbackMethod `json:"method,omitempty"`
	Image  string                   `json:"image,omitempty"`
	// Version is the one before.
	Version string `json:"version"`
	// Wanted says that a person has asked for it.
	Wanted bool `json:"wanted,omitempty"`
}

// goesBack reports whether the firmware is to go back, or has.
func (v *view) goesBack() bool {
	return v.progress != nil && v.progress.Asked == v.asked && v.progress.Rollback != nil && v.progress.Rollback.Wanted
}

// goesBackBy reports whether it is to go back by a method.
func (v *view) goesBackBy(m farrierv1.RollbackMethod) bool {
	return v.goesBack() && v.progress.Rollback.Method == m
}

// publishes reports whether what is installed is an image that somebody has published, rather than one that the BMC has itself.
func (v *view) publishes() bool { return !v.goesBack() || v.goesBackBy(farrierv1.RollbackReflash) }

// rollbackOf is how the firmware goes back from a hop that is about to begin.
func (c catalog) rollbackOf(h *hop, from string) *rollback {
	back := &rollback{Version: from}
	if h.rollback == nil {
		return back
	}
	back.Method, back.Image = h.rollback.Method, h.rollback.Image
	if back.Method == farrierv1.RollbackReflash {
		before, _ := c.named(back.Image)
		back.Version = before.version
	}
	return back
}

// previous is what a rollback brings. Its error is a Terminal.
func (c catalog) previous(back *rollback) (hop, error) {
	if back.Method != farrierv1.RollbackReflash {
		return hop{image: back.Image, version: back.Version}, nil
	}
	h, found := c.named(back.Image)
	if !found {
		return hop{image: back.Image, version: back.Version}, reconcileerror.Terminalf(reasonFirmwareImageNotFound, "FirmwareImage %q, with which the firmware goes back, does not exist", back.Image)
	}
	h.requires = nil // an older version is installed over each newer one, or not at all
	return h, nil
}

// says is a rollback in words for before the start; empty: nobody has said how it goes.
func (h *hop) says() string {
	if h.rollback == nil {
		return ""
	}
	switch h.rollback.Method {
	case farrierv1.RollbackPreviousImage:
		return "; the BMC keeps the previous image for a rollback"
	case farrierv1.RollbackOtherBank:
		return "; the other bank keeps the previous version for a rollback"
	case farrierv1.RollbackReflash:
		return fmt.Sprintf("; FirmwareImage %q is for a rollback", h.rollback.Image)
	case farrierv1.RollbackNone:
		return "; there is no rollback"
	}
	return ""
}

// rollBack is the progress of an object that is to go back; without one, refused says why it cannot.
func rollBack(i *item, known catalog, now time.Time) (to *progress, refused string) {
	p := progressOf(i)
	if p == nil || p.Asked != askedFor(i) || p.Rollback == nil && !p.active() {
		return nil, "Farrier has made no update for this spec, so there is nothing to go back from"
	}
	switch {
	case p.active():
		return nil, "an update is under way; ask again when it has ended"
	case p.Reason == reasonRolledBack:
		return nil, fmt.Sprintf("the firmware has gone back to version %q already", p.Rollback.Version)
	}
	back := *p.Rollback
	if back.Method == "" { // somebody may have said it since
		h := known.asked(i.spec)
		back = *known.rollbackOf(&h, back.Version)
	}
	switch {
	case back.Method == "":
		return nil, fmt.Sprintf("no FirmwareImage is about %s with version %q and says how the firmware goes back", i.spec.Image.URI, i.spec.Version)
	case back.Method == farrierv1.RollbackNone:
		return nil, "the FirmwareImage says that there is no way back"
	case back.Version == "":
		return nil, fmt.Sprintf("FirmwareImage %q, with which the firmware goes back, does not exist", back.Image)
	}
	back.Wanted = true
	return &progress{Asked: p.Asked, Step: stepDone, Since: now.UTC(), Rollback: &back}, ""
}

// rolledBack says that the firmware has gone back.
func (v *view) rolledBack(p *plan) plan {
	p.progress = &progress{Asked: v.asked, Step: stepFailed, Since: v.now.UTC(), Rollback: v.progress.Rollback, Reason: reasonRolledBack}
	p.progress.Message = fmt.Sprintf("The %s went back to version %q, as somebody asked; to install version %q again, set the annotation %s=%s",
		v.item.kind.firmware, v.goal.version, v.item.spec.Version, metalv1.AnnotationOperation, metalv1.OperationRetry)
	return p.say(metalv1.VersionStateFailed, reasonRolledBack, "%s", p.progress.Message)
}
