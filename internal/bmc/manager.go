package bmc

import (
	"context"
	"net/netip"
	"strings"
)

// maxManagerInterfaces bounds how many of a manager's interfaces are read.
const maxManagerInterfaces = 8

// maxManagers bounds how many managers are looked at for one: a large chassis has some dozens.
const maxManagers = 128

// Manager is the BMC itself.
type Manager struct {
	URI             string
	UUID            string
	Manufacturer    string
	Model           string
	SKU             string // the part number: managers have no SKU
	SerialNumber    string
	FirmwareVersion string
	State           string // Status.State: Enabled, StandbyOffline, …
	Health          string
	PowerState      string
	MACAddress      string // the one that is known, or that of the interface we speak to, or else of the first in use
	HostName        string // of the same interface, "" where it was not read
	// Vendor is the vendor whose quirks the BMC has; its manufacturer may be another.
	Vendor Vendor
}

// managerPlace remembers where the manager and its interface were found, so
// that looking again costs two requests.
type managerPlace struct {
	manager, nic string
	// wanted is the UUID of the one that was looked for; instead says that there are others and none has it.
	wanted  string
	instead bool
}

type managerBody struct {
	ID              text `json:"@odata.id"`
	Type            text `json:"@odata.type"`
	ManagerType     text
	UUID            text
	Manufacturer    text
	Model           text
	PartNumber      text
	SerialNumber    text
	FirmwareVersion text
	PowerState      text
	Status          status
	Interfaces      link `json:"EthernetInterfaces"`
	LogServices     link
	Actions         struct {
		Reset resetAction `json:"#Manager.Reset"`
	}
}

// interfaceBody is an EthernetInterface of a manager or of a system.
type interfaceBody struct {
	ID           text `json:"Id"`
	Name         text
	MACAddress   text
	PermanentMAC text `json:"PermanentMACAddress"`
	HostName     text
	FQDN         text
	LinkStatus   text
	SpeedMbps    number
	Enabled      *bool `json:"InterfaceEnabled"`
	Status       status
	IPv4         []addressBody `json:"IPv4Addresses"`
	IPv6         []addressBody `json:"IPv6Addresses"`
}

type addressBody struct{ Address text }

func (b *interfaceBody) mac() string {
	if mac := canonicalMAC(string(b.MACAddress)); mac != "" {
		return mac
	}
	return canonicalMAC(string(b.PermanentMAC))
}

// addresses are the interface's usable IP addresses in canonical form.
func (b *interfaceBody) addresses() []string {
	var all []string
	for _, a := range append(b.IPv4, b.IPv6...) {
		ip, err := netip.ParseAddr(string(a.Address))
		if err == nil && !ip.IsUnspecified() {
			all = append(all, ip.Unmap().WithZone("").String())
		}
	}
	return all
}

// ChooseManager says by its UUID which manager is meant where a service has several, as those of a chassis
// do. Where none has that UUID, or it is empty, it is the service's choice.
func (c *Client) ChooseManager(ctx context.Context, uuid string) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	if uuid = canonicalUUID(uuid); uuid != c.managerUUID {
		c.managerUUID, c.manager = uuid, managerPlace{}
	}
	return nil
}

// Manager reads the manager that was chosen, or else the one that provides the Redfish service: the one that
// the service names, or else the first that is a BMC, or else the first.
func (c *Client) Manager(ctx context.Context) (Manager, error) {
	place, err := c.place(ctx)
	if err != nil {
		return Manager{}, err
	}
	body, err := c.readManager(ctx, place.manager)
	if err != nil {
		if absent(err) {
			_ = c.setPlace(ctx, managerPlace{}) // it moved: look for it next time
		}
		return Manager{}, err
	}
	m := Manager{
		URI:             place.manager,
		UUID:            canonicalUUID(string(body.UUID)),
		Manufacturer:    string(body.Manufacturer),
		Model:           string(body.Model),
		SKU:             string(body.PartNumber),
		SerialNumber:    string(body.SerialNumber),
		FirmwareVersion: string(body.FirmwareVersion),
		State:           string(body.Status.State),
		Health:          string(body.Status.Health),
		PowerState:      string(body.PowerState),
	}
	nic, err := c.managerInterface(ctx, body, place)
	if err != nil {
		return Manager{}, err
	}
	if m.Vendor, err = c.serviceVendor(ctx); err != nil {
		return Manager{}, err
	}
	if place.instead && place.wanted != m.UUID {
		_ = c.setPlace(ctx, managerPlace{}) // the one that is meant may appear
	}
	m.MACAddress, m.HostName = nic.mac(), string(nic.HostName)
	if m.HostName == "" {
		m.HostName = string(nic.FQDN)
	}
	return m, nil
}

func (c *Client) readManager(ctx context.Context, uri string) (managerBody, error) {
	var body managerBody
	if _, err := c.get(ctx, uri, &body); err != nil {
		return body, err
	}
	if body.ID == "" && body.Type == "" && body.ManagerType == "" {
		return body, c.protocolError("GET "+uri, "body is no Manager")
	}
	return body, nil
}

// place says where the manager is, looking for it the first time.
func (c *Client) place(ctx context.Context) (managerPlace, error) {
	if err := c.take(ctx); err != nil {
		return managerPlace{}, err
	}
	place := c.manager
	place.wanted = c.managerUUID
	c.release()
	if place.manager != "" {
		return place, nil
	}
	root, err := c.root(ctx)
	if err != nil {
		return place, err
	}
	if place.wanted != "" {
		if place.manager, place.instead, err = c.managerWith(ctx, root, place.wanted); err != nil {
			return place, err
		}
	}
	if place.manager == "" {
		if place.manager, err = c.findManager(ctx, root); err != nil {
			return place, err
		}
	}
	return place, c.setPlace(ctx, place)
}

func (c *Client) setPlace(ctx context.Context, place managerPlace) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	c.manager = place
	return nil
}

// managerWith looks for the manager with a UUID. Where there is but one that is not looked at: it is the one. several
// says that there is a choice.
func (c *Client) managerWith(ctx context.Context, root *serviceRoot, uuid string) (uri string, several bool, _ error) {
	uris, err := c.members(ctx, root.Managers.or(managersPath))
	if err != nil || len(uris) < 2 {
		return "", false, onlyUnreachable(err)
	}
	for _, uri := range uris[:min(len(uris), maxManagers)] {
		body, err := c.readManager(ctx, uri)
		if Unreachable(err) {
			return "", true, err
		}
		if err == nil && canonicalUUID(string(body.UUID)) == uuid {
			return uri, true, nil
		}
	}
	return "", true, nil
}

func (c *Client) findManager(ctx context.Context, root *serviceRoot) (string, error) {
	if root.Links.Manager != "" {
		return string(root.Links.Manager), nil
	}
	path := root.Managers.or(managersPath)
	uris, err := c.members(ctx, path)
	switch {
	case root.Managers == "" && absent(err), err == nil && len(uris) == 0:
		return "", c.unsupported("GET "+path, "the service lists no manager")
	case err != nil:
		return "", err
	case len(uris) == 1:
		return uris[0], nil
	}
	for _, uri := range uris {
		body, err := c.readManager(ctx, uri)
		if Unreachable(err) {
			return "", err
		}
		if err == nil && strings.EqualFold(string(body.ManagerType), "BMC") {
			return uri, nil
		}
	}
	return uris[0], nil
}

// managerInterface reads the interface by which the BMC is reached, for its MAC address; where that is known, nothing is read. A BMC that
// shows none is no error.
func (c *Client) managerInterface(ctx context.Context, body managerBody, place managerPlace) (interfaceBody, error) {
	if mac := canonicalMAC(c.options.MACAddress); mac != "" {
		return interfaceBody{MACAddress: text(mac)}, nil
	}
	if place.nic != "" {
		var nic interfaceBody
		if _, err := c.get(ctx, place.nic, &nic); err == nil || Unreachable(err) {
			return nic, err
		}
	}
	if body.Interfaces == "" {
		return interfaceBody{}, nil
	}
	members, err := collect[interfaceBody](ctx, c, string(body.Interfaces), 1)
	if err != nil {
		return interfaceBody{}, onlyUnreachable(err)
	}
	var best interfaceBody
	for _, m := range members[:min(len(members), maxManagerInterfaces)] {
		nic := m.body
		if nic == nil {
			nic = new(interfaceBody)
			if _, err := c.get(ctx, m.uri, nic); err != nil {
				if Unreachable(err) {
					return interfaceBody{}, err
				}
				continue
			}
		}
		ours := c.reachedAt(*nic)
		if ours || best.mac() == "" && nic.mac() != "" {
			best, place.nic = *nic, m.uri
		}
		if ours {
			break
		}
	}
	return best, c.setPlace(ctx, place)
}

func (c *Client) reachedAt(nic interfaceBody) bool {
	host, err := netip.ParseAddr(c.endpoint.host())
	if err != nil {
		return false
	}
	for _, ip := range nic.addresses() {
		if ip == host.Unmap().WithZone("").String() {
			return true
		}
	}
	return false
}

// onlyUnreachable keeps out errors of one resource that leave the rest good.
func onlyUnreachable(err error) error {
	if Unreachable(err) {
		return err
	}
	return nil
}
