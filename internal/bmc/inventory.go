package bmc

import (
	"context"
	"errors"
	"slices"
)

// Inventory is what a system is made of. It costs a request for each part, so
// it is read rarely.
type Inventory struct {
	Processors  []Processor
	Storage     []Storage
	Interfaces  []Interface
	BootOrder   []BootOption
	MemoryBytes int64
	// Missing names the parts that the BMC has and could not show.
	Missing []string
}

// Processor is a CPU or another processor.
type Processor struct {
	ID             string
	Type           string // CPU, GPU, FPGA, …
	Architecture   string
	InstructionSet string
	Manufacturer   string
	Model          string
	MaxSpeedMHz    int32
	TotalCores     int32
	TotalThreads   int32
}

// Interface is a network interface of the system.
type Interface struct {
	ID         string
	Name       string
	MACAddress string // canonical
	LinkStatus string // LinkUp, NoLink, LinkDown
	State      string
	SpeedMbps  int32
	IPs        []string
}

// BootOption is an entry of the boot order, in its order.
type BootOption struct {
	Reference  string // what the order is written in, such as "Boot0003"
	Name       string
	DevicePath string // UEFI device path
}

// inventoryBody is the part of a ComputerSystem body that leads to its parts.
type inventoryBody struct {
	Boot          bootBody
	MemorySummary struct{ TotalSystemMemoryGiB number }
	Processors    link
	Memory        link
	Storage       link
	SimpleStorage link
	Interfaces    link `json:"EthernetInterfaces"`
	Adapters      link `json:"NetworkInterfaces"`
	Links         struct{ Chassis links }
}

// Inventory reads the parts of a system. A part that cannot be read is named in
// Missing; the rest is good. An error means that the BMC cannot be asked.
func (c *Client) Inventory(ctx context.Context, systemURI string) (Inventory, error) {
	var body inventoryBody
	if _, err := c.get(ctx, systemURI, &body); err != nil {
		return Inventory{}, err
	}
	inv := Inventory{MemoryBytes: body.MemorySummary.TotalSystemMemoryGiB.bytes(1 << 30)}
	parts := []struct {
		name string
		read func(context.Context, *inventoryBody, *Inventory) error
	}{
		{"Processors", c.processors},
		{"Memory", c.memory},
		{"Storage", c.storage},
		{"EthernetInterfaces", c.interfaces},
		{"BootOptions", c.bootOrder},
	}
	for _, part := range parts {
		switch err := part.read(ctx, &body, &inv); {
		case err == nil || absent(err):
		case Unreachable(err):
			return Inventory{}, err
		default:
			inv.Missing = append(inv.Missing, part.name)
		}
	}
	return inv, nil
}

// ErrInterrupted: reading was given up between two requests, as the caller asked.
var ErrInterrupted = errors.New("interrupted")

type interruptKey struct{}

// Interruptible returns a context under which what takes many requests asks stop between
// them, and gives up with ErrInterrupted where it says so. A request on its way is not cut off: the
// BMC would go on working at it.
func Interruptible(ctx context.Context, stop func() bool) context.Context {
	return context.WithValue(ctx, interruptKey{}, stop)
}

func interrupted(ctx context.Context) bool {
	stop, ok := ctx.Value(interruptKey{}).(func() bool)
	return ok && stop()
}

// each reads the members of a collection one by one. Broken ones are left out; their
// error is returned only where no member could be read.
func each[T any](ctx context.Context, c *Client, path link, use func(uri string, body *T)) error {
	if path == "" {
		return nil
	}
	uris, err := c.members(ctx, string(path))
	if err != nil {
		return err
	}
	return eachOf(ctx, c, uris, use)
}

func eachOf[T any](ctx context.Context, c *Client, uris []string, use func(uri string, body *T)) error {
	var failed error
	read := 0
	for _, uri := range uris {
		if interrupted(ctx) {
			return ErrInterrupted
		}
		body := new(T)
		if _, err := c.get(ctx, uri, body); err != nil {
			if Unreachable(err) {
				return err
			}
			failed = err
			continue
		}
		read++
		use(uri, body)
	}
	if read > 0 {
		return nil
	}
	return failed
}

type processorBody struct {
	ID                    text `json:"Id"`
	ProcessorType         text
	ProcessorArchitecture text
	InstructionSet        text
	Manufacturer          text
	Model                 text
	MaxSpeedMHz           number
	TotalCores            number
	TotalThreads          number
	Status                status
}

func (c *Client) processors(ctx context.Context, system *inventoryBody, inv *Inventory) error {
	return each(ctx, c, system.Processors, func(_ string, b *processorBody) {
		if b.Status.State == "Absent" { // an empty socket
			return
		}
		inv.Processors = append(inv.Processors, Processor{
			ID:             string(b.ID),
			Type:           string(b.ProcessorType),
			Architecture:   string(b.ProcessorArchitecture),
			InstructionSet: string(b.InstructionSet),
			Manufacturer:   string(b.Manufacturer),
			Model:          string(b.Model),
			MaxSpeedMHz:    b.MaxSpeedMHz.count(),
			TotalCores:     b.TotalCores.count(),
			TotalThreads:   b.TotalThreads.count(),
		})
	})
}

// memory adds the modules up only where the system gives no sum.
func (c *Client) memory(ctx context.Context, system *inventoryBody, inv *Inventory) error {
	if inv.MemoryBytes > 0 {
		return nil
	}
	type module struct{ CapacityMiB number }
	return each(ctx, c, system.Memory, func(_ string, b *module) {
		inv.MemoryBytes += b.CapacityMiB.bytes(1 << 20)
	})
}

// interfaces reads EthernetInterfaces, or the ports of the network adapters where the BMC has
// no EthernetInterfaces or an empty list of them.
func (c *Client) interfaces(ctx context.Context, system *inventoryBody, inv *Inventory) error {
	err := c.ethernetInterfaces(ctx, system, inv)
	if Unreachable(err) || len(inv.Interfaces) > 0 {
		return err
	}
	if ports := c.adapterPorts(ctx, system, inv); ports != nil || len(inv.Interfaces) > 0 {
		return ports
	}
	return err
}

func (c *Client) ethernetInterfaces(ctx context.Context, system *inventoryBody, inv *Inventory) error {
	return each(ctx, c, system.Interfaces, func(_ string, b *interfaceBody) {
		inv.Interfaces = append(inv.Interfaces, Interface{
			ID:         string(b.ID),
			Name:       string(b.Name),
			MACAddress: b.mac(),
			LinkStatus: string(b.LinkStatus),
			State:      string(b.Status.State),
			SpeedMbps:  b.SpeedMbps.count(),
			IPs:        b.addresses(),
		})
	})
}

// bootOrder names the entries of the boot order. Options that are not in the
// order are not booted from and left out.
func (c *Client) bootOrder(ctx context.Context, system *inventoryBody, inv *Inventory) error {
	for _, reference := range system.Boot.Order {
		inv.BootOrder = append(inv.BootOrder, BootOption{Reference: reference})
	}
	if len(inv.BootOrder) == 0 {
		return nil
	}
	type option struct {
		Reference  text `json:"BootOptionReference"`
		Name       text `json:"DisplayName"`
		DevicePath text `json:"UefiDevicePath"`
	}
	return each(ctx, c, system.Boot.Options, func(_ string, b *option) {
		i := slices.IndexFunc(inv.BootOrder, func(o BootOption) bool { return o.Reference == string(b.Reference) })
		if i >= 0 {
			inv.BootOrder[i].Name, inv.BootOrder[i].DevicePath = string(b.Name), string(b.DevicePath)
		}
	})
}
