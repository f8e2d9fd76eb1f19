package inspection

import "time"

// Report is what one collection on one machine found: the "data" of a
// registration.
type Report struct {
	Timestamp         time.Time          `json:"timestamp,omitzero"`
	AgentVersion      string             `json:"agentVersion,omitempty"`
	Capabilities      []Capability       `json:"capabilities,omitempty"`
	SystemInfo        SystemInfo         `json:"systemInfo"`
	CPU               []CPU              `json:"cpu,omitempty"`
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	LLDP              LLDP               `json:"lldp,omitempty"`
	Storage           []BlockDevice      `json:"storage,omitempty"`
	Memory            []MemoryDevice     `json:"memory,omitempty"`
	NICs              []NIC              `json:"nics,omitempty"`
	PCIDevices        []PCIDevice        `json:"pciDevices,omitempty"`
	// TPM is nil on a machine without one. What it says is what the machine says: nobody has verified it.
	TPM *TPM `json:"tpm,omitempty"`
	// Cleanup is nil until an order to clean has been carried out. A machine without disks has
	// carried it out with an empty list.
	Cleanup []DiskCleanup `json:"cleanup,omitzero"`
}

// SystemInfo is the SMBIOS view of the machine (DSP0134 §7.1 to §7.3).
type SystemInfo struct {
	BIOS   BIOSInformation   `json:"biosInformation"`
	System SystemInformation `json:"systemInformation"`
	Board  BoardInformation  `json:"boardInformation"`
}

// BIOSInformation is the SMBIOS type 0 structure.
type BIOSInformation struct {
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date,omitempty"`
}

// SystemInformation is the SMBIOS type 1 structure.
type SystemInformation struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"productName,omitempty"`
	Version      string `json:"version,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	SKUNumber    string `json:"skuNumber,omitempty"`
	Family       string `json:"family,omitempty"`
}

// BoardInformation is the SMBIOS type 2 structure.
type BoardInformation struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	Product      string `json:"product,omitempty"`
	Version      string `json:"version,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	AssetTag     string `json:"assetTag,omitempty"`
}

// CPU is one processor package.
type CPU struct {
	ID                   int      `json:"id"`
	TotalCores           uint32   `json:"totalCores"`
	TotalHardwareThreads uint32   `json:"totalHardwareThreads"`
	Vendor               string   `json:"vendor,omitempty"`
	Model                string   `json:"model,omitempty"`
	Capabilities         []string `json:"capabilities,omitempty"`
}

// CarrierStatus is whether a link is up.
type CarrierStatus string

// The two states of a link.
const (
	CarrierUp   CarrierStatus = "up"
	CarrierDown CarrierStatus = "down"
)

// NetworkInterface is one link as the operating system names it.
type NetworkInterface struct {
	Name          string        `json:"name"`
	IPAddresses   []string      `json:"ipAddresses,omitempty"`
	MACAddress    string        `json:"macAddress"`
	CarrierStatus CarrierStatus `json:"carrierStatus,omitempty"`

	// IPAddress is what older agents send in place of IPAddresses. Decode moves
	// it there.
	IPAddress string `json:"ipAddress,omitempty"`
}

// LLDP is what was heard on each link. Agents send a list, or the same list as
// the field "interfaces" of an object.
type LLDP []LLDPInterface

// LLDPInterface is what was heard on one link.
type LLDPInterface struct {
	Name      string     `json:"name"`
	Neighbors []Neighbor `json:"neighbors,omitempty"`
}

// Neighbor is one LLDP neighbour (IEEE 802.1AB §8.5).
type Neighbor struct {
	ChassisID         string   `json:"chassisId,omitempty"`
	PortID            string   `json:"portId,omitempty"`
	PortDescription   string   `json:"portDescription,omitempty"`
	SystemName        string   `json:"systemName,omitempty"`
	SystemDescription string   `json:"systemDescription,omitempty"`
	ManagementIP      string   `json:"mgmtIp,omitempty"`
	Capabilities      []string `json:"capabilities,omitempty"`
	VLANID            string   `json:"vlanId,omitempty"`
}

// BlockDevice is one disk.
type BlockDevice struct {
	Path              string `json:"path,omitempty"`
	Name              string `json:"name"`
	Rotational        bool   `json:"rotational"`
	Removable         bool   `json:"removable"`
	ReadOnly          bool   `json:"readOnly"`
	Vendor            string `json:"vendor,omitempty"`
	Model             string `json:"model,omitempty"`
	Serial            string `json:"serial,omitempty"`
	WWID              string `json:"wwid,omitempty"`
	PhysicalBlockSize uint64 `json:"physicalBlockSize,omitempty"`
	LogicalBlockSize  uint64 `json:"logicalBlockSize,omitempty"`
	HWSectorSize      uint64 `json:"hWSectorSize,omitempty"`
	SizeBytes         uint64 `json:"sizeBytes"`
	NUMANodeID        int    `json:"numaNodeID"`
}

// MemoryDevice is one memory module (SMBIOS type 17).
type MemoryDevice struct {
	SizeBytes             int64  `json:"size"`
	DeviceSet             string `json:"deviceSet,omitempty"`
	DeviceLocator         string `json:"deviceLocator,omitempty"`
	BankLocator           string `json:"bankLocator,omitempty"`
	MemoryType            string `json:"memoryType,omitempty"`
	Speed                 string `json:"speed,omitempty"`
	Vendor                string `json:"vendor,omitempty"`
	SerialNumber          string `json:"serialNumber,omitempty"`
	AssetTag              string `json:"assetTag,omitempty"`
	PartNumber            string `json:"partNumber,omitempty"`
	ConfiguredMemorySpeed string `json:"configuredMemorySpeed,omitempty"`
	MinimumVoltage        string `json:"minimumVoltage,omitempty"`
	MaximumVoltage        string `json:"maximumVoltage,omitempty"`
	ConfiguredVoltage     string `json:"configuredVoltage,omitempty"`
}

// NIC is one network controller.
type NIC struct {
	Name            string   `json:"name"`
	MAC             string   `json:"mac"`
	PCIAddress      string   `json:"pciAddress,omitempty"`
	Speed           string   `json:"speed,omitempty"`
	LinkModes       []string `json:"linkModes,omitempty"`
	SupportedPorts  []string `json:"supportedPorts,omitempty"`
	FirmwareVersion string   `json:"firmwareVersion,omitempty"`
}

// PCIDevice is one function on the PCI bus.
type PCIDevice struct {
	Address    string `json:"address,omitempty"`
	Vendor     string `json:"vendor,omitempty"`
	VendorID   string `json:"vendorID,omitempty"`
	Product    string `json:"product,omitempty"`
	ProductID  string `json:"productID,omitempty"`
	NUMANodeID int    `json:"numaNodeID,omitempty"`
}

// TPM is the Trusted Platform Module of a machine.
type TPM struct {
	Version string `json:"version"` // 2, or 1
	// EndorsementKey is the public part of the RSA endorsement key that the TCG EK Credential Profile defines, PEM; empty: the TPM did not tell.
	EndorsementKey string    `json:"endorsementKey,omitempty"`
	PCRs           []PCRBank `json:"pcrs,omitempty"`
	// EventLog is what firmware and boot loader measured (TCG PC Client Platform Firmware Profile); empty: there is none, or it is too large for a report.
	EventLog []byte `json:"eventLog,omitempty"`
}

// PCRBank has the PCRs of one hash algorithm, from 0 on, in hexadecimal.
type PCRBank struct {
	Algorithm string   `json:"algorithm"`
	Values    []string `json:"values,omitempty"`
}

// DiskCleanup records what cleaning did to one disk.
type DiskCleanup struct {
	Path    string  `json:"path"`
	Serial  string  `json:"serial,omitempty"`
	WWID    string  `json:"wwid,omitempty"`
	Method  string  `json:"method"`
	Seconds float64 `json:"seconds"`
	Result  string  `json:"result"`
	Error   string  `json:"error,omitempty"`
	// Note is what a person should know all the same: why a disk is exempt, or which
	// better method failed first.
	Note string `json:"note,omitempty"`
}
