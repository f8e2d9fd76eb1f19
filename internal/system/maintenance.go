package system

import (
	"errors"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/controller/biossettings"
	"github.com/farrier-dev/farrier/internal/controller/bmcsettings"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/firmwareversion"
	"github.com/farrier-dev/farrier/internal/controller/maintenance"
	"github.com/farrier-dev/farrier/internal/controller/readiness"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpolicy"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// maintenance makes the controllers of everything that a person, a set of settings or a version of firmware does to servers that is not their claim's
// business, as far as they decide for all servers.
func (t *term) maintenance(mgr ctrl.Manager) error {
	s := t.System
	setups := []func(ctrl.Manager) error{
		(&maintenance.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: s.recorder(mgr), Workers: workers,
		}).SetupWithManager,
		(&readiness.Servers{Client: mgr.GetClient(), Workers: workers}).SetupWithManager,
		(&readiness.Rules{Client: mgr.GetClient(), Clock: clock.RealClock{}}).SetupWithManager,
	}
	if !s.settings.foreignKinds {
		setups = append(setups, t.fleets(mgr)...)
	}
	return t.setUp(setups)
}

// fleets makes the controllers of settings and firmware of many machines.
func (t *term) fleets(mgr ctrl.Manager) (setups []func(ctrl.Manager) error) {
	s := t.System
	for _, kind := range childset.Kinds() {
		setups = append(setups,
			(&childset.Targets{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Kind: kind, Workers: workers}).SetupWithManager,
			(&childset.Sets{Client: mgr.GetClient(), Kind: kind, Recorder: s.recorder(mgr), Clock: clock.RealClock{}}).SetupWithManager,
		)
	}
	return append(setups, (&rolloutpolicy.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Kinds: childset.Kinds(), Recorder: s.recorder(mgr), Clock: clock.RealClock{},
	}).SetupWithManager)
}

// settingsAndVersions makes those that carry out settings and firmware of single machines.
func (t *term) settingsAndVersions(mgr ctrl.Manager) error {
	s := t.System
	if s.settings.foreignKinds {
		return nil
	}
	if err := t.newFirmwareImages(); err != nil {
		return err
	}
	if err := errors.Join(mgr.Add(named("firmware images", t.firmware.Run)), mgr.Add(named("firmware images for BMCs", t.serveOwnFirmware))); err != nil {
		return err
	}
	settings := &biossettings.Reconciler{
		Client: mgr.GetClient(), Fleet: t.fleet, Registry: t.registry, Recorder: s.recorder(mgr), Clock: clock.RealClock{},
		KeyOf:     func(name string) (fleet.Key, bool) { return t.registry.Key(&t.servers.Wake, name) },
		Namespace: s.settings.ManagerNamespace, EnforcePowerOff: s.settings.EnforcePowerOff, Workers: workers,
	}
	versions := func(kind *firmwareversion.Kind, keyOf func(string) (fleet.Key, bool)) *firmwareversion.Reconciler {
		return &firmwareversion.Reconciler{
			Client: mgr.GetClient(), Kind: kind, Fleet: t.fleet, Registry: t.registry, Recorder: s.recorder(mgr), Clock: clock.RealClock{}, KeyOf: keyOf, Images: t.firmware,
			Namespace: s.settings.ManagerNamespace, EnforcePowerOff: s.settings.EnforcePowerOff, Workers: workers,
		}
	}
	return t.setUp([]func(ctrl.Manager) error{
		settings.SetupWithManager,
		versions(firmwareversion.BIOS, settings.KeyOf).SetupWithManager,
		versions(firmwareversion.BMC, func(name string) (fleet.Key, bool) { return t.registry.Key(&t.bmcs.Wake, name) }).SetupWithManager,
		(&bmcsettings.Reconciler{
			Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: t.fleet, Registry: t.registry, Recorder: s.recorder(mgr), Clock: clock.RealClock{},
			KeyOf:     func(name string) (fleet.Key, bool) { return t.registry.Key(&t.bmcs.Wake, name) },
			Namespace: s.settings.ManagerNamespace, Workers: workers,
		}).SetupWithManager,
	})
}
