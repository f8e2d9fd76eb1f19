package bmc

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Inventory is what a system is made of. It costs a request for each part, so
// it is read rarely.
type Inventory struct {
	Processors  []Processor
	Storage     []Storage
	Interfaces  []Interface
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

// Inventory reads the parts of a system. A part that cannot be read is named in
// Missing; the rest is good. An error means that the BMC cannot be asked.
func (c *Client) Inventory(ctx context.Context, systemURI string) (Inventory, error) {
	body, err := c.partsOf(ctx, systemURI)
	if err != nil {
		return Inventory{}, err
	}
	inv := Inventory{MemoryBytes: body.MemorySummary.TotalSystemMemoryGiB.bytes(1 << 30)}
	parts := []struct {
		name string
		read func(context.Context, *systemBody, *Inventory) error
	}{
		{"Processors", c.processors},
		{"Memory", c.memory},
		{"Storage", c.storage},
		{"EthernetInterfaces", c.interfaces},
	}
	for _, part := range parts {
		switch err := part.read(ctx, body, &inv); {
		case err == nil || absent(err):
		case Unreachable(err):
			return Inventory{}, err
		default:
			inv.Missing = append(inv.Missing, part.name)
		}
	}
	return inv, nil
}

// partsKept is how long what a system was listed with serves its inventory, which follows at once or not at all.
const partsKept = time.Minute

// listed keeps the systems that were read with their list until their inventory is: it needs the same resource.
type listed struct {
	mu      sync.Mutex
	at      time.Time
	systems map[string]*systemBody
}

func (l *listed) keep(systems map[string]*systemBody, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.systems, l.at = systems, now
}

// take returns a system, if it was listed just now. It is good for one use.
func (l *listed) take(uri string, now time.Time) *systemBody {
	l.mu.Lock()
	defer l.mu.Unlock()
	body := l.systems[uri]
	delete(l.systems, uri)
	if now.Sub(l.at) > partsKept {
		return nil
	}
	return body
}

// forget drops a system that is read anew.
func (l *listed) forget(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.systems, uri)
}

// partsOf is the resource that leads to the parts of a system.
func (c *Client) partsOf(ctx context.Context, uri string) (*systemBody, error) {
	if body := c.listed.take(uri, c.clock.Now()); body != nil {
		return body, nil
	}
	body := new(systemBody)
	_, err := c.get(ctx, uri, body)
	return body, err
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

func (c *Client) processors(ctx context.Context, system *systemBody, inv *Inventory) error {
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
func (c *Client) memory(ctx context.Context, system *systemBody, inv *Inventory) error {
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
func (c *Client) interfaces(ctx context.Context, system *systemBody, inv *Inventory) error {
	err := c.ethernetInterfaces(ctx, system, inv)
	if Unreachable(err) || len(inv.Interfaces) > 0 {
		return err
	}
	if ports := c.adapterPorts(ctx, system, inv); ports != nil || len(inv.Interfaces) > 0 {
		return ports
	}
	return err
}

func (c *Client) ethernetInterfaces(ctx context.Context, system *systemBody, inv *Inventory) error {
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
