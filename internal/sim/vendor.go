package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Vendor names a personality of a BMC.
type Vendor string

// The vendors whose quirks are simulated.
const (
	Standard   Vendor = "standard"
	Dell       Vendor = "dell"
	HPE        Vendor = "hpe"
	Lenovo     Vendor = "lenovo"
	Supermicro Vendor = "supermicro"
	AMI        Vendor = "ami"
)

// modeRule says what becomes of BootSourceOverrideMode.
type modeRule int

const (
	modeFree     modeRule = iota
	modeStarts            // writing it, even unchanged, starts a lifecycle job
	modeRequired          // a boot target without it is refused
)

// startRule says what a start of the machine has to do with an update of its BIOS.
type startRule int

const (
	startNever    startRule = iota // nothing
	startShows                     // the new version is there after it
	startEndsTask                  // the task waits for it too
)

// personality is what BMCs of one vendor do otherwise. What is zero is as the
// standard has it.
type personality struct {
	vendor       Vendor
	manufacturer string // of systems; AMI only makes what runs on their BMCs
	service      string // ServiceRoot.Vendor
	product      string
	oem          string // key of the Oem object in the service root
	// Formats of resource ids, with the number of the system within its BMC.
	systemID, managerID, chassisID string

	// refusedReset is allowed, and refused all the same.
	refusedReset string
	actionInfo   bool // allowable values are in an ActionInfo only
	// noIndicator: LocationIndicatorActive only (ComputerSystem v1.13.0 and newer).
	noIndicator bool

	expand expandSupport

	mode modeRule
	// modeless is the model that has no BootSourceOverrideMode.
	modeless          string
	noEnabledWithNone bool
	busyInPOST        string // the message of a change that comes during POST
	settings          string // where settings of Bios are written
	bootInSettings    bool   // Boot is written at the system's settings resource, with its ETag

	// slots is the size of a table of accounts that are changed and never made;
	// 0: accounts are made by POST.
	slots           int
	adminID         string
	noAccountDelete bool
	accountTogether []string // a change has all of these or none
	longestPassword int
	passwordSymbols string // beside letters and digits; empty: all

	updateRefusesIfMatch bool
	pushURI              string // MultipartHttpPushUri, where images are taken; empty: nowhere
	updateBecomesJob     bool
	hidesPayload         bool // tasks do not say what they began with
	biosAtStart          startRule
	// keepsPrevious: the firmware inventory has the image before the last update, which can be installed from there; banks: there is a second bank.
	keepsPrevious, banks bool
	taskID               string // format

	sameSubscription *failure // what a second one to the same destination meets
	noRetryPolicy    bool     // DeliveryRetryPolicy is refused

	// managerAttributes: the BMC's own settings are attributes; protocolWaits: NetworkProtocol is taken over at a restart of the BMC.
	managerAttributes, protocolWaits bool

	// bootsOnce: firmware that finds nothing to boot stays there, as it is delivered.
	bootsOnce bool

	sessionLimit *failure
}

// personalities are all there are. The quirks of each are those that the package documentation
// of internal/bmc has to cope with.
var personalities = []*personality{
	{
		vendor: Standard, manufacturer: manufacturer, service: manufacturer, product: "Simulated BMC",
		systemID: "%d", managerID: "%d", chassisID: "%d", settings: "Settings", adminID: "1", longestPassword: 64,
		expand: expandSupport{all: true, links: true, noLinks: true, levels: true, maxLevels: 2},
		banks:  true, taskID: "%d", sessionLimit: errSessionLimit,
	},
	{
		vendor: Dell, manufacturer: "Dell Inc.", service: "Dell", product: "Integrated Dell Remote Access Controller", oem: "Dell",
		systemID: "System.Embedded.%d", managerID: "iDRAC.Embedded.%d", chassisID: "System.Embedded.%d", settings: "Settings",
		expand:            expandSupport{all: true, links: true, noLinks: true, levels: true, maxLevels: 1},
		managerAttributes: true, mode: modeStarts, slots: 16, adminID: "2", accountTogether: []string{"RoleId", "Enabled", "Password"}, longestPassword: 40,
		updateRefusesIfMatch: true, pushURI: updateServiceURI + "/MultipartUpload", hidesPayload: true, biosAtStart: startEndsTask, keepsPrevious: true, taskID: "JID_%012d",
		sameSubscription: &failure{
			status: http.StatusBadRequest, id: "PropertyValueModified",
			text: "The property %1 was assigned the value '%2' due to modification by the service.", args: []string{"Destination", "the subscription that exists"},
		},
		sessionLimit: &failure{status: http.StatusServiceUnavailable, registry: "IDRAC.2.8.", id: "RAC0218", text: "The maximum number of user sessions is reached."},
	},
	{
		vendor: HPE, manufacturer: "HPE", service: "HPE", product: "Simulated iLO", oem: "Hpe",
		systemID: "%d", managerID: "%d", chassisID: "%d", settings: "Settings", adminID: "1", longestPassword: 39,
		expand:        expandSupport{noLinks: true, maxLevels: 1},
		protocolWaits: true, noEnabledWithNone: true, busyInPOST: "UnsupportedOperation", noRetryPolicy: true, hidesPayload: true, biosAtStart: startShows, taskID: "%d", sessionLimit: errSessionLimit,
	},
	{
		vendor: Lenovo, manufacturer: "Lenovo", service: "Lenovo", product: "Simulated XClarity Controller", oem: "Lenovo",
		systemID: "%d", managerID: "%d", chassisID: "%d", settings: "Pending", adminID: "1", slots: 12, noAccountDelete: true,
		longestPassword: 32, passwordSymbols: "~`!@#$%^&*()-+={}[]|:;\"'<>,?/._",
		expand:    expandSupport{all: true, links: true, noLinks: true, levels: true, maxLevels: 2},
		bootsOnce: true, refusedReset: "PushPowerButton", updateBecomesJob: true, pushURI: "/mfwupdate", hidesPayload: true, taskID: "%d",
		sessionLimit: &failure{status: http.StatusServiceUnavailable, id: "CreateLimitReachedForResource", text: "The create operation failed because the resource has reached the limit of possible resources."},
	},
	{
		vendor: Supermicro, manufacturer: "Supermicro", service: "Supermicro", product: "Simulated BMC", oem: "Supermicro",
		systemID: "%d", managerID: "%d", chassisID: "%d", settings: "SD", adminID: "2", longestPassword: 20,
		passwordSymbols: "~!@#$%^&*()_+-={}[]|:;<>,.?/", actionInfo: true,
		bootsOnce: true, mode: modeRequired, modeless: "S480", pushURI: updateServiceURI + "/upload", taskID: "%d", sessionLimit: errSessionLimit,
	},
	{
		vendor: AMI, manufacturer: manufacturer, service: "AMI", product: "MegaRAC", oem: "Ami",
		systemID: "Self", managerID: "Self", chassisID: "Self", settings: "SD", adminID: "1", longestPassword: 20,
		expand:          expandSupport{all: true, levels: true, maxLevels: 5},
		passwordSymbols: "!#$%&()*+,-./:;<=>?@[]^_`{|}~", bootsOnce: true, bootInSettings: true, actionInfo: true, noIndicator: true, pushURI: updateServiceURI + "/upload", taskID: "%d",
		sessionLimit: &failure{status: http.StatusBadRequest, id: "CreateLimitReachedForResource", text: "The create operation failed because the resource has reached the limit of possible resources."},
	},
}

// Vendors lists the personalities.
func Vendors() []Vendor {
	var out []Vendor
	for _, p := range personalities {
		out = append(out, p.vendor)
	}
	return out
}

// VendorMix is the word for all of them, in turn.
const VendorMix = "mix"

// ParseVendors reads a list such as "dell,hpe", or "mix".
func ParseVendors(text string) ([]Vendor, error) {
	if text == VendorMix {
		return Vendors(), nil
	}
	var out []Vendor
	for name := range strings.SplitSeq(text, ",") {
		v := Vendor(strings.ToLower(strings.TrimSpace(name)))
		if !slices.Contains(Vendors(), v) {
			return nil, fmt.Errorf("vendor %q is not one of %v, nor %q for all of them in turn", name, Vendors(), VendorMix)
		}
		out = append(out, v)
	}
	return out, nil
}

// personalityOf is that of the BMC with an index: vendors take turns.
func personalityOf(vendors []Vendor, index int) (*personality, error) {
	if len(vendors) == 0 {
		return personalities[0], nil
	}
	v := vendors[index%len(vendors)]
	i := slices.IndexFunc(personalities, func(p *personality) bool { return p.vendor == v })
	if i < 0 {
		return nil, fmt.Errorf("vendor %q is not one of %v", v, Vendors())
	}
	return personalities[i], nil
}

// numbered is a resource id. Where the format has no number, only the second
// of a kind gets one.
func numbered(format string, n int) string {
	switch {
	case strings.Contains(format, "%"):
		return fmt.Sprintf(format, n)
	case n > 1:
		return fmt.Sprint(format, n)
	default:
		return format
	}
}

// hasMode reports whether a model has BootSourceOverrideMode.
func (p *personality) hasMode(m *model) bool { return m.name != p.modeless }
