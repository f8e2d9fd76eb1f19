package bmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// PowerState is the power of a system.
type PowerState string

const (
	PowerOn          PowerState = "On"
	PowerOff         PowerState = "Off"
	PowerPaused      PowerState = "Paused"
	PowerPoweringOn  PowerState = "PoweringOn"
	PowerPoweringOff PowerState = "PoweringOff"
	// PowerUnknown: the BMC does not say, or says what the schema does not have.
	PowerUnknown PowerState = "Unknown"
)

func powerState(s text) PowerState {
	for _, known := range []PowerState{PowerOn, PowerOff, PowerPaused, PowerPoweringOn, PowerPoweringOff} {
		if strings.EqualFold(string(s), string(known)) {
			return known
		}
	}
	return PowerUnknown
}

// System is a ComputerSystem: what is asked at every poll.
type System struct {
	URI          string
	UUID         string // canonical, "" where the BMC has none
	Name         string
	Manufacturer string
	Model        string
	SKU          string
	SerialNumber string
	BIOSVersion  string
	IndicatorLED string // Lit, Blinking, Off, Unknown
	HostName     string
	State        string // Status.State: Enabled, StandbyOffline, …
	// Health is Status.HealthRollup, what the system is with all its parts: OK, Warning, Critical. Where the BMC rolls nothing up it is Status.Health.
	Health      string
	PowerState  PowerState
	MemoryBytes int64
	// ResetTypes are those the BMC allows; empty: it does not say.
	ResetTypes []string
	Boot       BootState
	ETag       string
	Vendor     Vendor
	Console    SerialConsole

	resetTarget string // of the action #ComputerSystem.Reset
	resetInfo   string // its ActionInfo, which may hold what ResetTypes lacks
	indicator   string // the property that sets the LED, "" where there is none
	chassis     string // that the system is in, "" where it does not say
}

// SerialConsole is what a BMC says of the serial console over SSH (DSP0268, ComputerSystem.SerialConsole).
type SerialConsole struct {
	// Known says that the BMC says something, Enabled that the console is switched on.
	Known, Enabled bool
	Port           int // 0 where the BMC does not say
	// Shared says that the SSH server leads to the command line of the BMC, where Command begins the console.
	Shared  bool
	Command string
}

// serialConsoleBody is the property SerialConsole.
type serialConsoleBody struct {
	SSH *struct {
		ServiceEnabled       bool
		Port                 number
		SharedWithManagerCLI bool
		ConsoleEntryCommand  text
	}
}

func (b serialConsoleBody) console() SerialConsole {
	if b.SSH == nil {
		return SerialConsole{}
	}
	port := int(b.SSH.Port)
	if port < 1 || port > 65535 {
		port = 0
	}
	return SerialConsole{Known: true, Enabled: b.SSH.ServiceEnabled, Port: port, Shared: b.SSH.SharedWithManagerCLI, Command: string(b.SSH.ConsoleEntryCommand)}
}

// IsServer reports whether the system is one that Farrier can boot: others are
// parts of a machine that firmware shows as systems.
func (s System) IsServer() bool { return s.Boot.Target != "" || len(s.Boot.Targets) > 0 }

// resetAction is an action #….Reset with its annotations.
type resetAction struct {
	Target text  `json:"target"`
	Values texts `json:"ResetType@Redfish.AllowableValues"`
	Info   text  `json:"@Redfish.ActionInfo"`
}

// systemBody is the part of a ComputerSystem body that System is made of.
type systemBody struct {
	ID             text `json:"@odata.id"`
	Type           text `json:"@odata.type"`
	ETag           text `json:"@odata.etag"`
	UUID           text
	Name           text
	Manufacturer   text
	Model          text
	SKU            text
	SerialNumber   text
	BiosVersion    text
	HostName       text
	PowerState     text
	IndicatorLED   text
	LocationActive *bool `json:"LocationIndicatorActive"`
	Status         status
	Boot           bootBody
	Settings       settingsBody `json:"@Redfish.Settings"`
	SerialConsole  serialConsoleBody
	Links          struct{ Chassis links }
	MemorySummary  struct{ TotalSystemMemoryGiB number }
	Processors     link
	Memory         link
	Storage        link
	SimpleStorage  link
	Interfaces     link `json:"EthernetInterfaces"`
	Adapters       link `json:"NetworkInterfaces"`
	Actions        struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}
}

// settingsBody says where the future state of a resource is written
// (DSP0266, "Settings resource").
type settingsBody struct {
	Object link `json:"SettingsObject"`
}

func (b *systemBody) system(uri, etag string) System {
	s := System{
		URI:          uri,
		UUID:         canonicalUUID(string(b.UUID)),
		Name:         string(b.Name),
		Manufacturer: string(b.Manufacturer),
		Model:        string(b.Model),
		SKU:          string(b.SKU),
		SerialNumber: string(b.SerialNumber),
		BIOSVersion:  string(b.BiosVersion),
		IndicatorLED: b.indicatorLED(),
		HostName:     string(b.HostName),
		State:        string(b.Status.State),
		Health:       string(cmp.Or(b.Status.HealthRollup, b.Status.Health)),
		PowerState:   powerState(b.PowerState),
		MemoryBytes:  b.MemorySummary.TotalSystemMemoryGiB.bytes(1 << 30),
		ResetTypes:   b.Actions.Reset.Values,
		Boot:         b.Boot.state(string(b.Settings.Object)),
		ETag:         etag,
		Vendor:       vendorOf(string(b.Manufacturer)),
		Console:      b.SerialConsole.console(),
	}
	if etag == "" {
		s.ETag = string(b.ETag)
	}
	switch {
	case b.IndicatorLED != "":
		s.indicator = indicatorLED
	case b.LocationActive != nil:
		s.indicator = locationIndicator
	}
	if len(b.Links.Chassis) > 0 {
		s.chassis = string(b.Links.Chassis[0])
	}
	s.resetTarget, _ = resourcePath(string(b.Actions.Reset.Target))
	s.resetInfo, _ = resourcePath(string(b.Actions.Reset.Info))
	return s
}

// indicatorLED: LocationIndicatorActive replaced IndicatorLED in ComputerSystem
// v1.13.0.
func (b *systemBody) indicatorLED() string {
	switch {
	case b.IndicatorLED != "":
		return string(b.IndicatorLED)
	case b.LocationActive == nil:
		return "Unknown"
	case *b.LocationActive:
		return "Blinking"
	default:
		return "Off"
	}
}

// known reports whether the body is of a resource at all, and not some other
// service's answer.
func (b *systemBody) known() bool { return b.ID != "" || b.Type != "" || b.PowerState != "" }

// System reads one system with one GET.
func (c *Client) System(ctx context.Context, uri string) (System, error) {
	c.listed.forget(uri)
	_, system, err := c.readSystem(ctx, uri)
	return system, err
}

func (c *Client) readSystem(ctx context.Context, uri string) (*systemBody, System, error) {
	body := new(systemBody)
	etag, err := c.get(ctx, uri, body)
	if err != nil {
		return nil, System{}, err
	}
	if !body.known() {
		return nil, System{}, c.protocolError("GET "+uri, "body is no ComputerSystem")
	}
	return body, c.systemOf(body, uri, etag), nil
}

// systemOf is what a body says of a system, and what the client knows of it besides.
func (c *Client) systemOf(body *systemBody, uri, etag string) System {
	system := body.system(uri, etag)
	if system.Vendor != Standard {
		c.met.Store(&system.Vendor)
	}
	if set, ok := c.lights.Load(uri); ok && system.indicator == "" {
		system.IndicatorLED = fmt.Sprint(set)
	}
	system.ResetTypes = c.quirks(system.Vendor).allowedResets(system.ResetTypes)
	return system
}

// SystemURIs lists the BMC's systems.
func (c *Client) SystemURIs(ctx context.Context) ([]string, error) {
	root, err := c.root(ctx)
	if err != nil {
		return nil, err
	}
	uris, err := c.members(ctx, root.Systems.or(systemsPath))
	if root.Systems == "" && absent(err) {
		return nil, nil // a service of something else: of a fabric, of storage, of a rack's power
	}
	return uris, err
}

// Found is a system of the BMC's list, or why it could not be read.
type Found struct {
	URI    string
	System System
	Err    error
}

// FindSystems lists the BMC's systems and reads each. One that cannot be read does not hide the others; an error means that
// the BMC cannot be asked.
func (c *Client) FindSystems(ctx context.Context) ([]Found, error) {
	root, err := c.root(ctx)
	if err != nil {
		return nil, err
	}
	members, err := collect[systemBody](ctx, c, root.Systems.or(systemsPath), 1)
	switch {
	case root.Systems == "" && absent(err):
		return nil, nil // a service of something else: of a fabric, of storage, of a rack's power
	case err != nil:
		return nil, err
	}
	all, bodies := make([]Found, 0, len(members)), make(map[string]*systemBody, len(members))
	for _, m := range members {
		f, body := Found{URI: m.uri}, m.body
		if body != nil && body.PowerState != "" { // without, it may be an excerpt
			f.System = c.systemOf(body, m.uri, "")
		} else if body, f.System, f.Err = c.readSystem(ctx, m.uri); Unreachable(f.Err) {
			return nil, f.Err
		}
		if f.Err == nil {
			bodies[m.uri] = body
		}
		all = append(all, f)
	}
	c.listed.keep(bodies, c.clock.Now())
	return all, nil
}

// Systems reads all systems that are servers. One that cannot be read does not
// hide the others; only if none can, the first error is returned.
func (c *Client) Systems(ctx context.Context) ([]System, error) {
	all, err := c.FindSystems(ctx)
	if err != nil {
		return nil, err
	}
	systems := make([]System, 0, len(all))
	var failed error
	for _, f := range all {
		switch {
		case f.Err == nil && f.System.IsServer():
			systems = append(systems, f.System)
		case failed == nil:
			failed = f.Err
		}
	}
	if len(systems) == 0 {
		return nil, failed
	}
	return systems, nil
}

// members lists a collection, page after page.
func (c *Client) members(ctx context.Context, path string) ([]string, error) {
	var paths []string
	for path != "" && len(paths) < maxMembers {
		var page collection
		if _, err := c.get(ctx, path, &page); err != nil {
			return nil, err
		}
		if len(page.Members) == 0 {
			break // an empty page that names a next one would never end
		}
		paths = append(paths, page.paths()...)
		path, _ = resourcePath(string(page.Next))
	}
	return paths[:min(len(paths), maxMembers)], nil
}

// Where every service has its root, its systems and its managers (DSP0266, "Resource URIs").
const (
	rootPath     = "/redfish/v1/"
	systemsPath  = "/redfish/v1/Systems"
	managersPath = "/redfish/v1/Managers"
)

const noServiceRoot = "body is no Redfish service root"

// serviceRoot is the part of the ServiceRoot that leads on.
type serviceRoot struct {
	ID       text `json:"@odata.id"`
	Type     text `json:"@odata.type"`
	Version  text `json:"RedfishVersion"`
	Vendor   text
	Product  text
	Systems  link
	Managers link
	OEM      map[string]struct{} `json:"Oem"`
	Links    struct {
		Manager  link `json:"ManagerProvidingService"`
		Sessions link
	}

	SessionService link
	Features       struct {
		Expand expandQuery `json:"ExpandQuery"`
	} `json:"ProtocolFeaturesSupported"`

	Accounts   link `json:"AccountService"`
	Events     link `json:"EventService"`
	Updates    link `json:"UpdateService"`
	Tasks      link
	Jobs       link `json:"JobService"`
	Registries link
}

// or is the link, or where the standard has what a service does not link.
func (l link) or(path string) string {
	if l != "" {
		return string(l)
	}
	return path
}

// root reads the service root once in the client's life.
func (c *Client) root(ctx context.Context) (*serviceRoot, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	known := c.service
	c.release()
	if known != nil {
		return known, nil
	}
	root := &serviceRoot{}
	if _, err := c.get(ctx, rootPath, root); err != nil {
		return nil, err
	}
	if root.Systems == "" && root.ID == "" && root.Version == "" {
		return nil, c.protocolError("GET "+rootPath, noServiceRoot)
	}
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	c.service = root
	c.release()
	return root, nil
}

// Absent reports whether err means that the BMC answered and does not have what it was asked for: a task that it has forgotten, a service
// that it lacks.
func Absent(err error) bool { return absent(err) }

// absent says that err means "this BMC does not have that".
func absent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.StatusCode == http.StatusNotFound || e.Kind == KindUnsupported)
}
