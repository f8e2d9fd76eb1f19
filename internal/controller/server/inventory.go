package server

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// observed copies the BMC's observation into status.
func observed(status *metalv1.ServerStatus, s *fleet.SystemObservation) {
	if !underway(s) || status.PowerState == "" {
		status.PowerState = metalv1.PowerState(s.PowerState)
	}
	status.Manufacturer = s.Manufacturer
	status.Model = s.Model
	status.SKU = s.SKU
	status.SerialNumber = s.SerialNumber
	status.BIOSVersion = s.BIOSVersion
	status.IndicatorLED = metalv1.IndicatorLED(s.IndicatorLED)
	inv := s.Inventory
	if inv == nil {
		return
	}
	// A part that could not be read this time stays as it was.
	missing := func(part string) bool { return slices.Contains(inv.Missing, part) }
	setBytes(&status.TotalSystemMemory, max(inv.MemoryBytes, s.MemoryBytes))
	if !missing("Processors") {
		status.Processors = processors(inv.Processors)
	}
	if !missing("Storage") {
		status.Storages = storages(inv.Storage)
	}
	if !missing("EthernetInterfaces") && !inspectedInBand(status.NetworkInterfaces) {
		status.NetworkInterfaces = interfaces(inv.Interfaces)
	}
}

// underway reports whether the machine is between two power states because of our command. The conditions PoweringOn and
// WaitingForPowerOff say that already; the state in between would be one more write with every boot.
func underway(s *fleet.SystemObservation) bool {
	between := s.PowerState == bmc.PowerPoweringOn || s.PowerState == bmc.PowerPoweringOff
	return between && s.Command.ID != "" && !s.Command.State.Ended()
}

// inspectedInBand reports whether a probe reported the interfaces: it knows carriers, addresses and neighbours, which a BMC does not.
func inspectedInBand(list []metalv1.NetworkInterface) bool {
	for _, n := range list {
		if n.CarrierStatus != "" {
			return true
		}
	}
	return false
}

func processors(list []bmc.Processor) []metalv1.Processor {
	var out []metalv1.Processor
	for _, p := range list {
		out = append(out, metalv1.Processor{
			ID: p.ID, Type: p.Type, Architecture: p.Architecture, InstructionSet: p.InstructionSet, Manufacturer: p.Manufacturer,
			Model: p.Model, MaxSpeedMHz: p.MaxSpeedMHz, TotalCores: p.TotalCores, TotalThreads: p.TotalThreads,
		})
	}
	return out
}

func storages(list []bmc.Storage) []metalv1.Storage {
	var out []metalv1.Storage
	for _, s := range list {
		storage := metalv1.Storage{Name: s.Name, State: metalv1.StorageState(s.State)}
		for _, d := range s.Drives {
			drive := metalv1.StorageDrive{
				Name: d.Name, MediaType: d.MediaType, Type: d.Type, Vendor: d.Vendor, Model: d.Model, SerialNumber: d.SerialNumber, State: metalv1.StorageState(d.State),
			}
			setBytes(&drive.Capacity, d.CapacityBytes)
			storage.Drives = append(storage.Drives, drive)
		}
		for _, v := range s.Volumes {
			volume := metalv1.StorageVolume{Name: v.Name, RAIDType: v.RAIDType, VolumeUsage: v.Usage, State: metalv1.StorageState(v.State)}
			setBytes(&volume.Capacity, v.CapacityBytes)
			storage.Volumes = append(storage.Volumes, volume)
		}
		out = append(out, storage)
	}
	return out
}

func interfaces(list []bmc.Interface) []metalv1.NetworkInterface {
	var out []metalv1.NetworkInterface
	for _, n := range list {
		if n.MACAddress == "" {
			continue // the field is required: an interface without one is of no use
		}
		out = append(out, metalv1.NetworkInterface{Name: cmp.Or(n.ID, n.Name), MACAddress: n.MACAddress, IPs: validIPs(n.IPs)})
	}
	return out
}

// reported is the network of a machine as its probe saw it.
func reported(report *inspection.Report) []metalv1.NetworkInterface {
	neighbors := map[string][]metalv1.LLDPNeighbor{}
	for _, l := range report.LLDP {
		for _, n := range l.Neighbors {
			neighbors[l.Name] = append(neighbors[l.Name], metalv1.LLDPNeighbor{
				MACAddress: n.ChassisID, PortID: n.PortID, PortDescription: n.PortDescription,
				SystemName: n.SystemName, SystemDescription: n.SystemDescription,
			})
		}
	}
	var out []metalv1.NetworkInterface
	for _, n := range report.NetworkInterfaces {
		mac, err := identity.MAC(n.MACAddress)
		if err != nil {
			continue
		}
		carrier := string(n.CarrierStatus)
		if carrier == "" {
			carrier = metalv1.CarrierStatusDown
		}
		out = append(out, metalv1.NetworkInterface{
			Name: n.Name, MACAddress: mac, IPs: validIPs(n.IPAddresses), CarrierStatus: carrier, Neighbors: neighbors[n.Name],
		})
	}
	return out
}

// validIPs keeps what the schema's format accepts; agents send prefixes and zones too.
func validIPs(list []string) []string {
	var out []string
	for _, text := range list {
		text, _, _ = strings.Cut(text, "/")
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a.WithZone("").String())
		}
	}
	return out
}

// setBytes keeps an equal quantity as it is, so that its spelling does not look like a change.
func setBytes(q **resource.Quantity, bytes int64) {
	if bytes <= 0 {
		return
	}
	next := resource.NewQuantity(bytes, resource.BinarySI)
	if *q != nil && (*q).Cmp(*next) == 0 {
		return
	}
	// The API gives back what was parsed from text, so compare with what it would give.
	parsed := resource.MustParse(next.String())
	if !reflect.DeepEqual(*q, &parsed) {
		*q = &parsed
	}
}
