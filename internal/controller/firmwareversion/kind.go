package firmwareversion

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
)

// Kind is what differs between the kinds.
type Kind struct {
	// Name is that of the kind, and what its requests to BMCs are counted by.
	Name string
	// firmware is what people call what is updated, controller the controller, prefix how the names of its maintenances begin.
	firmware, controller, prefix string
	finalizer                    string
	// ofBMC: the object is for a BMC and all its servers. Otherwise it is for one server, whose BIOS needs the machine off, and then a start.
	ofBMC bool
	// byTarget is the index of objects by the name of what they are for.
	byTarget string
	new      func() client.Object
	newList  func() client.ObjectList
	items    func(client.ObjectList) []*item
	read     func(client.Object) *item
}

// BIOS is the kind BIOSVersion.
var BIOS = &Kind{
	Name: throttle.KindBIOSVersion, firmware: "BIOS", controller: "biosversion", prefix: "biosv", finalizer: metalv1.FinalizerBIOSVersion,
	byTarget: index.BIOSVersionByServer,
	new:      func() client.Object { return &metalv1.BIOSVersion{} },
	newList:  func() client.ObjectList { return &metalv1.BIOSVersionList{} },
	items: func(list client.ObjectList) (all []*item) {
		if list, ok := list.(*metalv1.BIOSVersionList); ok {
			for i := range list.Items {
				all = append(all, readBIOS(&list.Items[i]))
			}
		}
		return all
	},
	read: readBIOS,
}

// BMC is the kind BMCVersion.
var BMC = &Kind{
	Name: throttle.KindBMCVersion, firmware: "BMC", controller: "bmcversion", prefix: "bmcv", finalizer: metalv1.FinalizerBMCVersion,
	ofBMC: true, byTarget: index.BMCVersionByBMC,
	new:     func() client.Object { return &metalv1.BMCVersion{} },
	newList: func() client.ObjectList { return &metalv1.BMCVersionList{} },
	items: func(list client.ObjectList) (all []*item) {
		if list, ok := list.(*metalv1.BMCVersionList); ok {
			for i := range list.Items {
				all = append(all, readBMC(&list.Items[i]))
			}
		}
		return all
	},
	read: readBMC,
}

// Kinds are all there are.
func Kinds() []*Kind { return []*Kind{BIOS, BMC} }

// item is an object of either kind.
type item struct {
	client.Object
	kind   *Kind
	spec   *metalv1.VersionTemplate
	status *metalv1.VersionStatus
	// target is the name of the Server or the BMC; empty: none is named.
	target string
}

func readBIOS(obj client.Object) *item {
	o, ok := obj.(*metalv1.BIOSVersion)
	if !ok {
		return nil
	}
	return &item{Object: o, spec: &o.Spec.VersionTemplate, status: &o.Status, target: nameOf(o.Spec.ServerRef)}
}

func readBMC(obj client.Object) *item {
	o, ok := obj.(*metalv1.BMCVersion)
	if !ok {
		return nil
	}
	return &item{Object: o, spec: &o.Spec.VersionTemplate, status: &o.Status, target: nameOf(o.Spec.BMCRef)}
}

// of reads an object of the kind; nil: it is of another.
func (k *Kind) of(obj client.Object) *item {
	i := k.read(obj)
	if i != nil {
		i.kind = k
	}
	return i
}

func nameOf(ref *metalv1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// maintenances are those that the spec names.
func (i *item) maintenances() []metalv1.ObjectReference {
	switch o := i.Object.(type) {
	case *metalv1.BIOSVersion:
		if o.Spec.ServerMaintenanceRef != nil {
			return []metalv1.ObjectReference{*o.Spec.ServerMaintenanceRef}
		}
	case *metalv1.BMCVersion:
		return o.Spec.ServerMaintenanceRefs
	}
	return nil
}

// name has the spec name maintenances.
func (i *item) name(refs []metalv1.ObjectReference) {
	switch o := i.Object.(type) {
	case *metalv1.BIOSVersion:
		o.Spec.ServerMaintenanceRef = nil
		if len(refs) > 0 {
			o.Spec.ServerMaintenanceRef = &refs[0]
		}
	case *metalv1.BMCVersion:
		o.Spec.ServerMaintenanceRefs = refs
	}
}

// copied is a copy to compare with.
func (i *item) copied() client.Object {
	before, _ := i.DeepCopyObject().(client.Object)
	return before
}

func (i *item) deleting() bool { return !i.GetDeletionTimestamp().IsZero() }

// holder names the holder of the exclusive lock.
func (i *item) holder() string { return i.kind.Name + " " + i.GetName() }
