package server

import (
	"fmt"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// What a cleanup does to the firmware, as the last parts of the IDs of jobs and commands.
const (
	stepDefaults  = "bios-defaults"
	stepBootOrder = "boot-order"
)

// step is the ID of a step of the present cleanup: of its boot where there is one.
func (v *View) step(name string) string {
	serves := v.claimedBy()
	if name == stepDefaults && v.BootInternal && v.Attempt != nil {
		serves = v.Attempt.ID
	}
	return strings.Join([]string{string(v.Server.UID), serves, name}, "/")
}

// due returns the ID under which a step is to be ordered now; empty: it is under way, or has just failed.
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

// refused is why a step has failed for good, shortly ago: the BMC cannot do it, or does not want to. Whatever else
// went wrong is tried again.
func (v *View) refused(last fleet.CommandStatus) error {
	kind := bmc.KindOf(last.Err)
	if last.State != fleet.Failed || kind != bmc.KindUnsupported && kind != bmc.KindRejected || !v.Now.Before(last.End.Add(retryDelay)) {
		return nil
	}
	return last.Err
}

// restoreDefaults orders the defaults of the BIOS, which the firmware takes over with the next boot, and
// says whether the BMC has taken the order.
func (v *View) restoreDefaults(p *Plan) bool {
	if v.Defaults.State == fleet.Succeeded {
		return true
	}
	if v.System != nil {
		p.Defaults = v.due(p, stepDefaults, v.Defaults)
	}
	return false
}

// restoreBootOrder orders the boot order that the server had when it became available first, and says
// whether it has it. What the firmware knows no more is left out, and what is new comes last.
func (v *View) restoreBootOrder(p *Plan) bool {
	if len(v.Server.Spec.BootOrder) > 0 {
		return true // spec says what it is, in every state but this
	}
	if v.System == nil {
		return false
	}
	now := v.System.Boot.Order
	var order []string
	for reference := range strings.SplitSeq(v.Server.Annotations[metalv1.AnnotationBootOrder], ",") {
		if slices.Contains(now, reference) && !slices.Contains(order, reference) {
			order = append(order, reference)
		}
	}
	if len(order) == 0 {
		return true // its BMC does not tell any
	}
	for _, reference := range now {
		if !slices.Contains(order, reference) {
			order = append(order, reference)
		}
	}
	if slices.Equal(order, now) || v.BootOrder.State == fleet.Succeeded { // some firmware shows it after the next boot only
		return true
	}
	if id := v.due(p, stepBootOrder, v.BootOrder); id != "" {
		p.Command = &fleet.Command{ID: id, System: v.System.URI, Kind: fleet.SetBootOrder, BootOrder: order}
	}
	return false
}

// rememberBootOrder is the boot order worth remembering: the first that is seen of a clean server.
func (v *View) rememberBootOrder() (string, bool) {
	if v.System == nil || len(v.System.Boot.Order) == 0 || v.Server.Annotations[metalv1.AnnotationBootOrder] != "" {
		return "", false
	}
	if slices.ContainsFunc(v.System.Boot.Order, func(reference string) bool { return strings.Contains(reference, ",") }) {
		return "", false // no reference of UEFI has one (Boot####), and what cannot be written is not restored
	}
	return strings.Join(v.System.Boot.Order, ","), true
}
