package bmc

import "context"

// maxPorts bounds how many ports of network adapters are read.
const maxPorts = 64

// adapterBody is a NetworkAdapter, or a NetworkInterface, which leads to one.
type adapterBody struct {
	ID           text `json:"Id"`
	Ports        link // NetworkAdapter v1.5.0
	NetworkPorts link // before
	Links        struct {
		Adapter link `json:"NetworkAdapter"`
	}
}

// portBody is a Port, or a NetworkPort of older services.
type portBody struct {
	ID        text `json:"Id"`
	Name      text
	Status    status
	Link      text   `json:"LinkStatus"`
	SpeedGbps number `json:"CurrentSpeedGbps"`
	SpeedMbps number `json:"CurrentLinkSpeedMbps"`
	Addresses texts  `json:"AssociatedNetworkAddresses"` // NetworkPort
	Ethernet  struct {
		MACs texts `json:"AssociatedMACAddresses"`
	}
}

func (b *portBody) mac() string {
	for _, list := range []texts{b.Ethernet.MACs, b.Addresses} {
		for _, s := range list {
			if mac := canonicalMAC(s); mac != "" {
				return mac
			}
		}
	}
	return ""
}

func (b *portBody) speed() int32 {
	if b.SpeedMbps > 0 {
		return b.SpeedMbps.count()
	}
	return (b.SpeedGbps * 1000).count()
}

// linkStatus spells as EthernetInterface does.
func (b *portBody) linkStatus() string {
	switch b.Link {
	case "Up":
		return "LinkUp"
	case "Down":
		return "LinkDown"
	}
	return string(b.Link)
}

// adapterPorts reads the ports of the system's network adapters: those that its own
// NetworkInterfaces lead to, or else those of its chassis.
func (c *Client) adapterPorts(ctx context.Context, system *systemBody, inv *Inventory) error {
	var found []*adapterBody
	collect := func(_ string, b *adapterBody) { found = append(found, b) }
	if err := each(ctx, c, system.Adapters, collect); Unreachable(err) {
		return err
	}
	var adapters []*adapterBody
	for _, b := range found {
		if b.Links.Adapter == "" {
			continue
		}
		if err := eachOf(ctx, c, bare[adapterBody]([]string{string(b.Links.Adapter)}), func(_ string, a *adapterBody) { adapters = append(adapters, a) }); Unreachable(err) {
			return err
		}
	}
	if len(adapters) == 0 {
		var err error
		if adapters, err = c.chassisAdapters(ctx, system); err != nil {
			return err
		}
	}
	for _, a := range adapters {
		if err := c.ports(ctx, a, inv); Unreachable(err) {
			return err
		}
	}
	return nil
}

func (c *Client) chassisAdapters(ctx context.Context, system *systemBody) (adapters []*adapterBody, err error) {
	type chassis struct{ NetworkAdapters link }
	for _, uri := range system.Links.Chassis {
		var body chassis
		if _, err := c.get(ctx, string(uri), &body); err != nil {
			if Unreachable(err) {
				return nil, err
			}
			continue
		}
		err := each(ctx, c, body.NetworkAdapters, func(_ string, a *adapterBody) { adapters = append(adapters, a) })
		if Unreachable(err) {
			return nil, err
		}
	}
	return adapters, nil
}

func (c *Client) ports(ctx context.Context, a *adapterBody, inv *Inventory) error {
	from := a.Ports
	if from == "" {
		from = a.NetworkPorts
	}
	return each(ctx, c, from, func(_ string, b *portBody) {
		if len(inv.Interfaces) >= maxPorts {
			return
		}
		inv.Interfaces = append(inv.Interfaces, Interface{
			ID: string(a.ID) + "-" + string(b.ID), Name: string(b.Name), MACAddress: b.mac(),
			LinkStatus: b.linkStatus(), State: string(b.Status.State), SpeedMbps: b.speed(),
		})
	})
}
