package bootmethod

import (
	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// IPXE boots a kernel and an initial RAM disk, or a script of its own. Firmware loads iPXE over PXE, and iPXE asks for the script.
var IPXE = Method{
	Name:   "iPXE",
	Kind:   "IPXEBootConfig",
	Target: "Pxe",
	Layers: registry.KernelSet,
	Conditions: map[bootview.DeliveryKind][]string{
		bootview.DeliveredScript:   {bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIPXEScriptDelivered},
		bootview.DeliveredArtifact: {bootv1.ConditionKernelFetched},
		bootview.DeliveredIgnition: {bootv1.ConditionIgnitionDataFetched, bootv1.ConditionIgnitionDataDelivered},
	},
	New:     func() Object { return &bootv1.IPXEBootConfig{} },
	NewList: func() List { return &bootv1.IPXEBootConfigList{} },
	plan:    planIPXE,
	Render:  renderIPXE,
	config:  configIPXE,
}

func planIPXE(p registry.Plan, m Machine) func(Object) {
	spec := bootv1.IPXEBootConfigSpec{
		SystemUUID: m.Server.Spec.SystemUUID, IgnitionSecretRef: m.Ignition,
		KernelURL: registry.LayerURL(m.BootURL, p, *p.Kernel), InitrdURL: registry.LayerURL(m.BootURL, p, *p.Initramfs),
	}
	for _, n := range m.Server.Status.NetworkInterfaces {
		spec.SystemIPs = append(spec.SystemIPs, n.IPs...)
	}
	if p.Squashfs != nil {
		spec.SquashfsURL = registry.LayerURL(m.BootURL, p, *p.Squashfs)
	}
	return func(obj Object) {
		if o, ok := obj.(*bootv1.IPXEBootConfig); ok {
			o.Spec = spec
		}
	}
}

// renderIPXE renders the script. An installed machine is sent to its disk.
func renderIPXE(obj Object, b Boot, e *bootview.Entry) string {
	o, ok := obj.(*bootv1.IPXEBootConfig)
	switch {
	case !ok:
		return ""
	case b.Installed:
		e.Script = bootview.ExitScript()
		return ""
	case o.Spec.IPXEScriptSecretRef != nil && o.Spec.IPXEScriptSecretRef.Name != "":
		e.Script = bootview.CustomScript(b.Script)
		return b.ScriptProblem
	}
	if err := bootview.CheckArguments(b.KernelArgsField, b.KernelArgs); err != nil {
		return err.Error()
	}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: b.BootURL, KernelURL: o.Spec.KernelURL, InitrdURL: o.Spec.InitrdURL, SquashfsURL: o.Spec.SquashfsURL,
		Attempt: e.Attempt, KernelArgs: b.KernelArgs,
	})
	if err != nil {
		return "spec." + err.Error()
	}
	e.Script = script
	return ""
}

func configIPXE(obj Object) *Config {
	o, ok := obj.(*bootv1.IPXEBootConfig)
	if !ok {
		return nil
	}
	spec, status := &o.Spec, &o.Status
	return &Config{
		SystemUUID: spec.SystemUUID, Addresses: []Addresses{{"systemIPs", spec.SystemIPs}}, Ignition: spec.IgnitionSecretRef, Script: spec.IPXEScriptSecretRef,
		URLs:  []URL{{"kernelURL", spec.KernelURL, true}, {"initrdURL", spec.InitrdURL, true}, {"squashfsURL", spec.SquashfsURL, true}},
		State: (*string)(&status.State), ObservedGeneration: &status.ObservedGeneration, DeliveryAttempt: &status.DeliveryAttempt,
		IgnitionFingerprint: &status.IgnitionFingerprint, Conditions: &status.Conditions,
	}
}
