package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Processor is one processor of a server, as its BMC reports it.
type Processor struct {
	// ID of the processor at the BMC.
	ID string `json:"id"`

	// Type of the processor, such as CPU or GPU.
	// +optional
	Type string `json:"type,omitempty"`

	// Architecture of the processor, such as x86 or ARM.
	// +optional
	Architecture string `json:"architecture,omitempty"`

	// InstructionSet of the processor, such as x86-64.
	// +optional
	InstructionSet string `json:"instructionSet,omitempty"`

	// Manufacturer of the processor.
	// +optional
	Manufacturer string `json:"manufacturer,omitempty"`

	// Model of the processor.
	// +optional
	Model string `json:"model,omitempty"`

	// MaxSpeedMHz is the highest clock speed of the processor, in MHz.
	// +optional
	MaxSpeedMHz int32 `json:"maxSpeedMHz,omitempty"`

	// TotalCores is the number of cores of the processor.
	// +optional
	TotalCores int32 `json:"totalCores,omitempty"`

	// TotalThreads is the number of hardware threads of the processor.
	// +optional
	TotalThreads int32 `json:"totalThreads,omitempty"`
}

const (
	// CarrierStatusUp means that an interface has a link.
	CarrierStatusUp = "up"
	// CarrierStatusDown means that an interface has no link.
	CarrierStatusDown = "down"
)

// NetworkInterface is one network interface of a server, as the BMC or the probe reports it.
type NetworkInterface struct {
	// Name of the interface.
	Name string `json:"name"`

	// IP is one address of the interface; ips holds all of them.
	// +optional
	IP string `json:"ip,omitempty"`

	// IPs are the addresses of the interface.
	// +optional
	// +kubebuilder:validation:items:Format=ip
	IPs []string `json:"ips,omitempty"`

	// MACAddress of the interface.
	MACAddress string `json:"macAddress"`

	// CarrierStatus is up if the interface has a link, and down if it has none.
	// +optional
	CarrierStatus string `json:"carrierStatus,omitempty"`

	// Neighbors are the devices that announced themselves on the link by LLDP (IEEE 802.1AB).
	// +optional
	Neighbors []LLDPNeighbor `json:"neighbors,omitempty"`
}

// LLDPNeighbor is what the device at the other end of a link announced about itself.
type LLDPNeighbor struct {
	// MACAddress is the chassis ID of the neighbor.
	// +optional
	MACAddress string `json:"macAddress,omitempty"`

	// PortID is the ID of the neighbor's port.
	// +optional
	PortID string `json:"portID,omitempty"`

	// PortDescription describes the neighbor's port.
	// +optional
	PortDescription string `json:"portDescription,omitempty"`

	// SystemName is the name of the neighbor.
	// +optional
	SystemName string `json:"systemName,omitempty"`

	// SystemDescription describes the neighbor.
	// +optional
	SystemDescription string `json:"systemDescription,omitempty"`
}

// StorageState is the state of a storage controller, a drive or a volume (DSP0268, Resource.State).
type StorageState string

// Storage is one storage controller of a server, as its BMC reports it.
type Storage struct {
	// Name of the controller.
	// +optional
	Name string `json:"name,omitempty"`

	// State of the controller.
	// +optional
	State StorageState `json:"state,omitempty"`

	// Drives behind the controller.
	// +optional
	Drives []StorageDrive `json:"drives,omitempty"`

	// Volumes that the controller provides.
	// +optional
	Volumes []StorageVolume `json:"volumes,omitempty"`
}

// StorageDrive is one drive of a server, as its BMC reports it.
type StorageDrive struct {
	// Name of the drive.
	// +optional
	Name string `json:"name,omitempty"`

	// MediaType of the drive, such as SSD or HDD.
	// +optional
	MediaType string `json:"mediaType,omitempty"`

	// Type is the protocol of the drive, such as NVMe or SATA.
	// +optional
	Type string `json:"type,omitempty"`

	// Capacity of the drive, in bytes.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// Vendor of the drive.
	// +optional
	Vendor string `json:"vendor,omitempty"`

	// Model of the drive.
	// +optional
	Model string `json:"model,omitempty"`

	// SerialNumber of the drive. Cleaning matches the wiped disks against it.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// State of the drive.
	// +optional
	State StorageState `json:"state,omitempty"`
}

// StorageVolume is one volume that a storage controller provides, as its BMC reports it.
type StorageVolume struct {
	// Name of the volume.
	// +optional
	Name string `json:"name,omitempty"`

	// Capacity of the volume, in bytes.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// RAIDType of the volume, such as RAID1.
	// +optional
	RAIDType string `json:"raidType,omitempty"`

	// VolumeUsage is the purpose of the volume, such as Data or CacheOnly.
	// +optional
	VolumeUsage string `json:"volumeUsage,omitempty"`

	// State of the volume.
	// +optional
	State StorageState `json:"state,omitempty"`
}
