package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Processor is one processor of a server.
type Processor struct {
	// ID of the processor at its BMC.
	ID string `json:"id"`

	// Type of the processor, such as CPU or GPU.
	// +optional
	Type string `json:"type,omitempty"`

	// Architecture of the processor.
	// +optional
	Architecture string `json:"architecture,omitempty"`

	// InstructionSet of the processor.
	// +optional
	InstructionSet string `json:"instructionSet,omitempty"`

	// Manufacturer of the processor.
	// +optional
	Manufacturer string `json:"manufacturer,omitempty"`

	// Model of the processor.
	// +optional
	Model string `json:"model,omitempty"`

	// MaxSpeedMHz is the highest clock speed of the processor.
	// +optional
	MaxSpeedMHz int32 `json:"maxSpeedMHz,omitempty"`

	// TotalCores is the number of cores.
	// +optional
	TotalCores int32 `json:"totalCores,omitempty"`

	// TotalThreads is the number of hardware threads.
	// +optional
	TotalThreads int32 `json:"totalThreads,omitempty"`
}

const (
	// CarrierStatusUp means that an interface has a link.
	CarrierStatusUp = "up"
	// CarrierStatusDown means that an interface has no link.
	CarrierStatusDown = "down"
)

// NetworkInterface is one network interface of a server.
type NetworkInterface struct {
	// Name of the interface.
	Name string `json:"name"`

	// IP is an address of the interface; IPs holds all of them.
	// +optional
	IP string `json:"ip,omitempty"`

	// IPs are the addresses of the interface.
	// +optional
	// +kubebuilder:validation:items:Format=ip
	IPs []string `json:"ips,omitempty"`

	// MACAddress of the interface.
	MACAddress string `json:"macAddress"`

	// CarrierStatus says whether the interface has a link, up or down.
	// +optional
	CarrierStatus string `json:"carrierStatus,omitempty"`

	// Neighbors that announced themselves on the link (IEEE 802.1AB).
	// +optional
	Neighbors []LLDPNeighbor `json:"neighbors,omitempty"`
}

// LLDPNeighbor is what the other end of a link announced of itself.
type LLDPNeighbor struct {
	// MACAddress is the chassis ID of the neighbor.
	// +optional
	MACAddress string `json:"macAddress,omitempty"`

	// PortID of the neighbor's port.
	// +optional
	PortID string `json:"portID,omitempty"`

	// PortDescription of the neighbor's port.
	// +optional
	PortDescription string `json:"portDescription,omitempty"`

	// SystemName of the neighbor.
	// +optional
	SystemName string `json:"systemName,omitempty"`

	// SystemDescription of the neighbor.
	// +optional
	SystemDescription string `json:"systemDescription,omitempty"`
}

// StorageState is the state of a storage controller, a drive or a volume as its BMC
// reports it (DSP0268, Resource.State).
type StorageState string

// Storage is one storage controller of a server.
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

	// Volumes that the controller offers.
	// +optional
	Volumes []StorageVolume `json:"volumes,omitempty"`
}

// StorageDrive is one drive of a server.
type StorageDrive struct {
	// Name of the drive.
	// +optional
	Name string `json:"name,omitempty"`

	// MediaType of the drive, such as SSD or HDD.
	// +optional
	MediaType string `json:"mediaType,omitempty"`

	// Type of the drive's protocol, such as NVMe or SATA.
	// +optional
	Type string `json:"type,omitempty"`

	// Capacity of the drive.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// Vendor of the drive.
	// +optional
	Vendor string `json:"vendor,omitempty"`

	// Model of the drive.
	// +optional
	Model string `json:"model,omitempty"`

	// SerialNumber of the drive. The disks that are wiped are matched against it.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// State of the drive.
	// +optional
	State StorageState `json:"state,omitempty"`
}

// StorageVolume is one volume that a storage controller offers.
type StorageVolume struct {
	// Name of the volume.
	// +optional
	Name string `json:"name,omitempty"`

	// Capacity of the volume.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// RAIDType of the volume.
	// +optional
	RAIDType string `json:"raidType,omitempty"`

	// VolumeUsage says what the volume is for.
	// +optional
	VolumeUsage string `json:"volumeUsage,omitempty"`

	// State of the volume.
	// +optional
	State StorageState `json:"state,omitempty"`
}
