package bootmethod

import (
	"fmt"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// HTTP is UEFI HTTP boot (UEFI 2.10 §24.7): firmware fetches a unified kernel image from the URL that DHCP or its BMC names.
var HTTP = Method{
	Name:   "UEFI HTTP boot",
	Kind:   "HTTPBootConfig",
	Target: "UefiHttp",
	Layers: registry.UKISet,
	File:   &bootfile.UKI,
	Conditions: map[bootview.DeliveryKind][]string{
		bootview.DeliveredUKI:      {bootv1.ConditionUKIFetched},
		bootview.DeliveredIgnition: {bootv1.ConditionIgnitionDataFetched, bootv1.ConditionIgnitionDataDelivered},
	},
	New:     func() Object { return &bootv1.HTTPBootConfig{} },
	NewList: func() List { return &bootv1.HTTPBootConfigList{} },
	plan:    planHTTP,
	Render:  renderHTTP,
	config:  configHTTP,
}

func planHTTP(p registry.Plan, m Machine) func(Object) {
	spec := bootv1.HTTPBootConfigSpec{SystemUUID: m.Server.Spec.SystemUUID, IgnitionSecretRef: m.Ignition, UKIURL: registry.UKIURL(m.BootURL, p)}
	for _, n := range m.Server.Status.NetworkInterfaces {
		spec.NetworkIdentifiers = append(append(spec.NetworkIdentifiers, n.IPs...), n.MACAddress)
	}
	return func(obj Object) {
		if o, ok := obj.(*bootv1.HTTPBootConfig); ok {
			o.Spec = spec
		}
	}
}

// renderHTTP names the UKI. An installed machine is told none: what it would boot installs it again.
func renderHTTP(obj Object, b Boot, e *bootview.Entry) string {
	o, ok := obj.(*bootv1.HTTPBootConfig)
	if !ok {
		return ""
	}
	e.BootsFile = true
	switch {
	case o.Spec.UKIURL == "":
		return "spec.ukiURL is empty"
	case !bootview.Fetchable(o.Spec.UKIURL):
		return fmt.Sprintf("spec.ukiURL: %.64q: firmware fetches http:// and https:// URLs only", o.Spec.UKIURL)
	case !b.Installed:
		e.FileURL = o.Spec.UKIURL
	}
	return ""
}

func configHTTP(obj Object) *Config {
	o, ok := obj.(*bootv1.HTTPBootConfig)
	if !ok {
		return nil
	}
	spec, status := &o.Spec, &o.Status
	return &Config{
		SystemUUID: spec.SystemUUID, Addresses: []Addresses{{"networkIdentifiers", spec.NetworkIdentifiers}, {"systemIPs", spec.SystemIPs}}, URLs: []URL{{Field: "ukiURL", Value: spec.UKIURL}}, FileURL: spec.UKIURL,
		Ignition: spec.IgnitionSecretRef,
		State:    (*string)(&status.State), ObservedGeneration: &status.ObservedGeneration, DeliveryAttempt: &status.DeliveryAttempt,
		IgnitionFingerprint: &status.IgnitionFingerprint, Conditions: &status.Conditions,
	}
}
