package acceptance

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
)

// TestFirmwareHopsAndGoesBack: what an image requires is installed first, and a person has the firmware go back: to an older image, to the other bank, and to
// what the BMC has kept. The servers are available again each time.
func TestFirmwareHopsAndGoesBack(t *testing.T) {
	l := newLab(t, 2, func(o *sim.Options) { o.Vendors = []sim.Vendor{sim.Standard, sim.Dell} })
	published := newPublisher(t)
	p := l.up(t, "--firmware-address", "127.0.0.1:0")
	l.discover(p)

	describe := func(name, version, file string, change func(*farrierv1.FirmwareImageSpec)) {
		t.Helper()
		f := &farrierv1.FirmwareImage{ObjectMeta: objectMeta("", name)}
		f.Spec.Version, f.Spec.Image = version, published.image(file)
		if change != nil {
			change(&f.Spec)
		}
		if err := p.Create(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	back := func(method farrierv1.RollbackMethod, image string) *farrierv1.FirmwareRollback {
		return &farrierv1.FirmwareRollback{Method: method, Image: image}
	}
	describe("bios-2.5", "2.5.0", "bios-2.5.0.bin", nil)
	describe("bios-3.0", "3.0.0", "bios-3.0.0.bin", func(s *farrierv1.FirmwareImageSpec) {
		s.Requires = &farrierv1.FirmwareRequirement{Version: "2.5", Image: "bios-2.5"}
		s.Rollback = back(farrierv1.RollbackReflash, "bios-2.5")
	})
	describe("bmc-7.10.30", "7.10.30", "bmc-7.10.30.bin", func(s *farrierv1.FirmwareImageSpec) { s.Rollback = back(farrierv1.RollbackOtherBank, "") })
	describe("bmc-7.10.50", "7.10.50", "bmc-7.10.50.bin", func(s *farrierv1.FirmwareImageSpec) { s.Rollback = back(farrierv1.RollbackPreviousImage, "") })

	bios := &metalv1.BIOSVersion{ObjectMeta: objectMeta("", "bios")}
	bios.Spec.ServerRef = &metalv1.LocalObjectReference{Name: l.BMCs()[0].Name + "-system-0"}
	bios.Spec.VersionTemplate = enforced("3.0.0", published.image("bios-3.0.0.bin"))
	one, two := &metalv1.BMCVersion{ObjectMeta: objectMeta("", "one")}, &metalv1.BMCVersion{ObjectMeta: objectMeta("", "two")}
	one.Spec.BMCRef, one.Spec.VersionTemplate = &metalv1.LocalObjectReference{Name: l.BMCs()[0].Name}, enforced("7.10.30", published.image("bmc-7.10.30.bin"))
	two.Spec.BMCRef, two.Spec.VersionTemplate = &metalv1.LocalObjectReference{Name: l.BMCs()[1].Name}, enforced("7.10.50", published.image("bmc-7.10.50.bin"))

	for _, tc := range []struct {
		object client.Object
		status *metalv1.VersionStatus
		server int
		old    string
	}{{bios, &bios.Status, 0, `"2.5.0"`}, {one, &one.Status, 0, ""}, {two, &two.Status, 1, ""}} {
		server := l.BMCs()[tc.server].Name + "-system-0"
		if err := p.Create(t.Context(), tc.object); err != nil {
			t.Fatal(err)
		}
		p.versionIs(tc.object, tc.status, metalv1.VersionStateCompleted, "VersionReached")
		p.serverIs(server, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
		before, _ := tc.object.DeepCopyObject().(client.Object)
		tc.object.GetAnnotations()[metalv1.AnnotationOperation] = metalv1.OperationRollback
		if err := p.Patch(t.Context(), tc.object, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		p.versionIs(tc.object, tc.status, metalv1.VersionStateFailed, "went back to version "+tc.old)
		p.serverIs(server, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	if n := published.bios.Load(); n != 2 {
		t.Errorf("images of the BIOS were fetched %d times: the one that comes first, and goes back, has a digest", n)
	}
}

// enforced asks for a version in a maintenance that nobody has to approve.
func enforced(version string, image metalv1.ImageSpec) metalv1.VersionTemplate {
	return metalv1.VersionTemplate{Version: version, Image: image, ServerMaintenancePolicy: metalv1.ServerMaintenancePolicyEnforced}
}
