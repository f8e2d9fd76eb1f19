package server

import (
	"fmt"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Steps of a cleanup that change firmware settings: the last parts of the IDs of jobs and commands.
const (
	stepDefaults  = "bios-defaults"
	stepBootOrder = "boot-order"
)

// step is the ID of a step of the current cleanup: of its boot where there is one.
func (v *View) step(name string) string {
	purpose := v.claimedBy()
	if name == stepDefaults && v.BootInternal && v.Attempt != nil {
		purpose = v.Attempt.ID
	}
	return strings.Join([]string{string(v.Server.UID), purpose, name}, "/")
}

// due is the ID under which a step is to be ordered now; empty: it is under way, or has just failed.
func (v *View) due(p *Plan, name string, last fleet.CommandStatus) string {
	base := v.step(name)
	switch retry := last.End.Add(retryDelay); {
	case last.ID == "":
		return base
	case !last.State.Ended():
		return ""
	case v.Now.Before(retry):
		p.after(v.Now, retry)
		return ""
	}
	return fmt.Sprintf("%s~%d", base, last.End.Unix())
}

// refused is why a step has just failed for good: the BMC does not support it, or rejects it. Other failures are retried.
func (v *View) refused(last fleet.CommandStatus) error {
	kind := bmc.KindOf(last.Err)
	if last.State != fleet.Failed || kind != bmc.KindUnsupported && kind != bmc.KindRejected || !v.Now.Before(last.End.Add(retryDelay)) {
		return nil
	}
	return last.Err
}

// restoreDefaults orders the BIOS defaults, which the firmware applies with the next boot. It reports whether the BMC has accepted
// the order.
func (v *View) restoreDefaults(p *Plan) bool {
	if v.Defaults.State == fleet.Succeeded {
		return true
	}
	if v.System != nil {
		p.Defaults = v.due(p, stepDefaults, v.Defaults)
	}
	return false
}

// bootOrderToRestore is the boot order that the server had when it first became Available, and whether it has to be restored. Entries
// that the firmware no longer has are left out, and new ones come last.
func (v *View) bootOrderToRestore() (order []string, needed bool) {
	if len(v.Server.Spec.BootOrder) > 0 {
		return nil, false // in every other state spec says what it is
	}
	if v.System == nil {
		return nil, true
	}
	now := v.System.Boot.Order
	for reference := range strings.SplitSeq(v.Server.Annotations[metalv1.AnnotationBootOrder], ",") {
		if slices.Contains(now, reference) && !slices.Contains(order, reference) {
			order = append(order, reference)
		}
	}
	if len(order) == 0 {
		return nil, false // its BMC reports none
	}
	for _, reference := range now {
		if !slices.Contains(order, reference) {
			order = append(order, reference)
		}
	}
	// Some firmware shows the order only after the next boot.
	return order, !slices.Equal(order, now) && v.BootOrder.State != fleet.Succeeded
}

// restoreBootOrder orders that boot order.
func (v *View) restoreBootOrder(p *Plan, order []string) {
	if v.System == nil {
		return
	}
	if id := v.due(p, stepBootOrder, v.BootOrder); id != "" {
		p.Command = &fleet.Command{ID: id, System: v.System.URI, Kind: fleet.SetBootOrder, BootOrder: order}
	}
}

// newBootOrder is the boot order to remember: the first that a clean server shows.
func (v *View) newBootOrder() (string, bool) {
	if v.System == nil || len(v.System.Boot.Order) == 0 || v.Server.Annotations[metalv1.AnnotationBootOrder] != "" {
		return "", false
	}
	if slices.ContainsFunc(v.System.Boot.Order, func(reference string) bool { return strings.Contains(reference, ",") }) {
		return "", false // no UEFI reference has one (Boot####), and it could not be written
	}
	return strings.Join(v.System.Boot.Order, ","), true
}
