package sim

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
)

const (
	// MACPrefix is what the MAC addresses of all simulated BMCs begin with. It is
	// locally administered (IEEE 802-2014 §8.4), so no real vendor has it.
	MACPrefix = "02:fa:44"

	// nicPrefix is the same for the ports of the machines.
	nicPrefix = "02:fa:45"

	manufacturer = "Anvil Systems"
	// maxPorts keeps the ports of one machine together in the address space.
	maxPorts = 4
)

// model is one kind of server.
type model struct {
	name, sku  string
	processor  processorModel
	sockets    int
	dimms      int
	dimmMiB    int
	dimmMHz    int
	controller string
	disks      []diskModel
	mirrored   bool // the first two disks are one volume
	ports      int
	portMbps   int
}

type processorModel struct {
	vendor, name   string
	cores, threads int
	mhz            int
}

type diskModel struct {
	count           int
	vendor, name    string
	bytes           int64
	media, protocol string
	nameless        bool // it has no worldwide name
	rpm             int
}

var models = []model{
	{
		name: "A120", sku: "AN-A120", sockets: 1, dimms: 4, dimmMiB: 16 << 10, dimmMHz: 4800, ports: 2, portMbps: 10_000,
		processor:  processorModel{vendor: "AuthenticAMD", name: "Hammer 7124", cores: 16, threads: 32, mhz: 3000},
		controller: "NVMe",
		disks:      []diskModel{{count: 2, vendor: "Ingot", name: "IN960", bytes: 960_197_124_096, media: "SSD", protocol: "NVMe"}},
	},
	{
		name: "A240", sku: "AN-A240", sockets: 2, dimms: 16, dimmMiB: 32 << 10, dimmMHz: 4800, ports: 4, portMbps: 25_000,
		processor:  processorModel{vendor: "GenuineIntel", name: "Tongs Gold 6430", cores: 32, threads: 64, mhz: 2100},
		controller: "NVMe",
		disks:      []diskModel{{count: 4, vendor: "Ingot", name: "IN3840", bytes: 3_840_755_982_336, media: "SSD", protocol: "NVMe"}},
	},
	{
		name: "S480", sku: "AN-S480", sockets: 2, dimms: 8, dimmMiB: 32 << 10, dimmMHz: 3200, ports: 2, portMbps: 25_000, mirrored: true,
		processor:  processorModel{vendor: "GenuineIntel", name: "Tongs Silver 4316", cores: 20, threads: 40, mhz: 2300},
		controller: "SAS",
		disks: []diskModel{
			{count: 2, vendor: "Ingot", name: "IS480", bytes: 480_103_981_056, media: "SSD", protocol: "SATA"},
			{count: 6, vendor: "Slag", name: "SL16T", bytes: 16_000_900_661_248, media: "HDD", protocol: "SAS", rpm: 7200},
		},
	},
}

// inventory is one server: its model, and the names that only it has. All of it
// follows from the seed and the index, so the same rack always comes back.
type inventory struct {
	*model
	seed   int64
	index  int
	uuid   string
	serial string
	mac    string // of the BMC
}

func newInventory(seed int64, index int) inventory {
	inv := inventory{seed: seed, index: index}
	h := inv.hash("server")
	inv.model = &models[int(h[0])%len(models)]
	inv.uuid = randomUUID(h[1:17])
	inv.serial = fmt.Sprintf("AN%s%05d", base32.StdEncoding.EncodeToString(h[17:20])[:3], index)
	// Adding the index to a start that the seed chooses keeps addresses apart
	// within a rack, which hashing them would not.
	inv.mac = macOf(MACPrefix, inv.seedNumber()+uint32(index))
	return inv
}

// hash is the source of everything invented for one server.
func (v inventory) hash(what string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "farrier sim %d %d %s", v.seed, v.index, what))
}

func (v inventory) seedNumber() uint32 {
	h := sha256.Sum256(fmt.Appendf(nil, "farrier sim %d", v.seed))
	return binary.BigEndian.Uint32(h[:4])
}

// portMAC is the address of one of the machine's own network ports.
func (v inventory) portMAC(port int) string {
	return macOf(nicPrefix, (v.seedNumber()+uint32(v.index))*maxPorts+uint32(port))
}

// partSerial is the serial number of one part, such as "disk 3".
func (v inventory) partSerial(part string) string {
	h := v.hash(part)
	return base32.StdEncoding.EncodeToString(h[:10])[:14]
}

// drive is one disk of a server, as it is known from outside.
type drive struct {
	diskModel
	slot   int
	serial string
	wwid   string
}

func (v inventory) diskList() []drive {
	var out []drive
	for _, m := range v.disks {
		for range m.count {
			part := fmt.Sprintf("disk %d", len(out))
			d := drive{diskModel: m, slot: len(out), serial: v.partSerial(part)}
			if !m.nameless {
				d.wwid = v.worldwideName(m.protocol, part)
			}
			out = append(out, d)
		}
	}
	return out
}

// worldwideName is how the kernel spells that of a disk: an EUI-64 of NVMe, a registered name (NAA 5) of SATA and SAS.
func (v inventory) worldwideName(protocol, part string) string {
	h := v.hash(part + " wwid")
	if protocol == protocolNVMe {
		return "eui." + hex.EncodeToString(h[:8])
	}
	return "naa.5" + hex.EncodeToString(h[:8])[1:]
}

func (v inventory) memoryGiB() float64 { return float64(v.dimms*v.dimmMiB) / 1024 }

func randomUUID(b []byte) string {
	u := [16]byte(b)
	u[6] = u[6]&0x0f | 0x40 // version 4, RFC 9562 §5.4
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u[:])
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
}

func macOf(prefix string, low24 uint32) string {
	return fmt.Sprintf("%s:%02x:%02x:%02x", prefix, byte(low24>>16), byte(low24>>8), byte(low24))
}

// octetsOf turns an address or identifier of this package back into octets.
func octetsOf(mac string) []byte {
	b, err := net.ParseMAC(mac)
	if err != nil {
		return nil
	}
	return b
}
