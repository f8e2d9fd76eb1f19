package firmwareversion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// What a BMC has kept itself of the version before.

// needsBanks reports whether the update is to be had only where there is a second bank to go back to.
func (v *view) needsBanks() bool {
	return v.goesBackBy(farrierv1.RollbackOtherBank) || v.goal.rollback != nil && v.goal.rollback.Method == farrierv1.RollbackOtherBank
}

// unbanked is why an update does not begin that could not be gone back from as its FirmwareImage says; nil: it may.
func (v *view) unbanked(l *look) error {
	if !v.needsBanks() || l.banked {
		return nil
	}
	if v.goesBack() {
		return reconcileerror.Terminalf(reasonRollbackNotOffered, "the %s has one bank, so it cannot go back to another", v.item.kind.firmware)
	}
	return reconcileerror.Terminalf(reasonRollbackNotOffered, "the %s has one bank, and the rollback of FirmwareImage %q is %s", v.item.kind.firmware, v.goal.known, farrierv1.RollbackOtherBank)
}

// changeBank has the firmware start from the bank that has a version. It may be done twice.
func (l *look) changeBank(ctx context.Context, s fleet.Services, c component, version string) error {
	banks, err := s.Banks(ctx, c.system)
	if err != nil {
		return fmt.Errorf("read the banks of the firmware: %w", err)
	}
	var other *bmc.Bank
	var seen []string
	for i, b := range banks.List {
		if seen = append(seen, b.Version); bmc.CompareVersions(b.Version, version) == 0 && (other == nil || b.Active) {
			other = &banks.List[i]
		}
	}
	switch {
	case other == nil:
		return reconcileerror.Terminalf(reasonRollbackNotOffered, "no bank of the firmware has version %q; they have %q", version, strings.Join(seen, ", "))
	case other.Active:
		return nil
	}
	l.sent = true
	if err := s.UseBank(ctx, banks, *other); err != nil {
		return fmt.Errorf("change to the other bank: %w", err)
	}
	return nil
}

// reinstall starts the update to the image of a version that the BMC has kept, as begin does.
func (l *look) reinstall(ctx context.Context, s fleet.Services, c component, i intent, n install, version string, unsure bool) error {
	list, err := s.Firmware(ctx)
	if err != nil {
		return fmt.Errorf("read the firmware inventory: %w", err)
	}
	for _, f := range list {
		if isPrevious(f, c, version) {
			n.Update, n.image = bmc.Update{ImageURI: f.URI, Force: true}, nil
			i.images = []string{f.URI}
			return l.begin(ctx, s, component{system: c.system, alone: true}, i, n, unsure)
		}
	}
	if err := l.read(ctx, s, c); err != nil {
		return err
	}
	if bmc.CompareVersions(l.version, version) == 0 {
		return nil // it was started before, and has ended
	}
	return reconcileerror.Terminalf(reasonRollbackNotOffered, "the BMC's firmware inventory has no previous image of version %q", version)
}

// isPrevious reports whether an entry of the firmware inventory is the image of a version that a component had before. Dell keeps one of each, whose ID
// begins with Previous.
func isPrevious(f bmc.Firmware, c component, version string) bool {
	words := strings.ToLower(f.ID + " " + f.Name)
	return strings.HasPrefix(words, "previous") && strings.Contains(words, "bios") == (c.system != "") && bmc.CompareVersions(f.Version, version) == 0 &&
		(c.system == "" || c.alone || slices.Contains(f.Of, c.system))
}
