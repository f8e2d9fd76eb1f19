package bmc

import (
	"context"
	"slices"
	"strings"
)

// Vendor names the vendor whose quirks a BMC has.
type Vendor string

const (
	Standard   Vendor = ""
	Dell       Vendor = "Dell"
	HPE        Vendor = "HPE"
	Lenovo     Vendor = "Lenovo"
	Supermicro Vendor = "Supermicro"
	AMI        Vendor = "AMI"
	IBM        Vendor = "IBM"
)

// modeRule says when BootSourceOverrideMode is sent.
type modeRule int

const (
	modeWherePresent modeRule = iota
	modeOnChange
)

// quirks are a vendor's deviations from the standard. The zero value is the standard.
// One place in the code handles each quirk; none is a client of its own.
type quirks struct {
	// mode: Dell starts a lifecycle job whenever the mode is written, even
	// unchanged; HPE refuses to have it written while it boots UEFI only. Supermicro
	// forgets the mode unless it is written each time, and refuses it where the
	// property does not exist: the standard rule.
	mode modeRule
	// noEnabledWithNone: HPE refuses BootSourceOverrideEnabled in a request whose
	// target is None.
	noEnabledWithNone bool
	// bootInSettings: AMI's MegaRAC, and so Gigabyte, take Boot only at the system's
	// settings resource ("/SD"), and only with its ETag.
	bootInSettings bool
	// noPowerButton: Lenovo's PushPowerButton is listed and refused.
	noPowerButton bool
	// busy are message ids, of requests refused with 400, that mean "later": the
	// machine is in POST.
	busy []string

	// accountWhole: Dell takes Password, RoleId and Enabled of an account together
	// or not at all.
	accountWhole bool
	// blankAccount: Lenovo's accounts are slots that may not be deleted (405); one
	// without a name is free.
	blankAccount bool
	// symbols are the characters, beside letters and digits, that passwords may
	// have; empty: defaultSymbols.
	symbols string

	// updateUnconditional: Dell answers 412 to a SimpleUpdate with If-Match.
	updateUnconditional bool
	// updateJob: the task of a Lenovo update ends and goes on as a job of the same id.
	updateJob bool

	// repeated is the message id by which a BMC says that a subscription exists
	// already, beside the standard's: at Dell the POST looks like a change.
	repeated string
	// expandLies: the service root of OpenBMC, as IBM builds it, offers $expand, and all but three paths refuse it. So
	// asking for it costs a request each time and saves none.
	expandLies bool
	// noRetryPolicy: HPE refuses subscriptions with DeliveryRetryPolicy.
	noRetryPolicy bool
}

// vendors is searched from the top; names are looked for without case, as prefix or word.
var vendors = []struct {
	vendor Vendor
	names  []string
	quirks quirks
}{
	{Dell, []string{"dell"}, quirks{
		mode:                modeOnChange,
		accountWhole:        true,
		symbols:             "!#$%&()*+,-./:;=?@[]^_{|}~",
		updateUnconditional: true,
		repeated:            "PropertyValueModified",
	}},
	{HPE, []string{"hpe", "hewlett", "hp"}, quirks{
		mode:              modeOnChange,
		noEnabledWithNone: true,
		busy:              []string{"UnsupportedOperation", "UnableToModifyDuringSystemPOST"},
		noRetryPolicy:     true,
	}},
	{Lenovo, []string{"lenovo"}, quirks{
		noPowerButton: true,
		blankAccount:  true,
		symbols:       "!@#$%^*()-+={}[]|:;,./_",
		updateJob:     true,
	}},
	{Supermicro, []string{"supermicro", "super micro"}, quirks{mode: modeWherePresent, symbols: "!@#$%^*()_+-=.,:"}},
	{IBM, []string{"ibm"}, quirks{expandLies: true}},
	{AMI, []string{"ami", "american megatrends", "gigabyte", "giga computing"}, quirks{bootInSettings: true, symbols: "!#$%*+-./:=?@_"}},
}

// VendorOf finds the vendor in the first of names that has one.
func VendorOf(names ...string) Vendor {
	for _, name := range names {
		if v := vendorOf(name); v != Standard {
			return v
		}
	}
	return Standard
}

// vendorOf finds the vendor in a manufacturer's name.
func vendorOf(name string) Vendor {
	words := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return ' '
	}, strings.ToLower(name))
	words = " " + strings.Join(strings.Fields(words), " ") + " "
	for _, v := range vendors {
		for _, n := range v.names {
			if strings.Contains(words, " "+n+" ") {
				return v.vendor
			}
		}
	}
	return Standard
}

func (v Vendor) quirks() quirks {
	for _, known := range vendors {
		if known.vendor == v {
			return known.quirks
		}
	}
	return quirks{}
}

// quirks returns those of a vendor; a test may adjust them.
func (c *Client) quirks(v Vendor) quirks {
	q := v.quirks()
	if c.options.adjust != nil {
		c.options.adjust(&q)
	}
	return q
}

// vendor returns the vendor that the system names, or else the one that the service names.
func (c *Client) vendor(ctx context.Context, s System) (Vendor, error) {
	if s.Vendor != Standard {
		return s.Vendor, nil
	}
	root, err := c.root(ctx)
	if err != nil {
		if Unreachable(err) {
			return Standard, err
		}
		return Standard, nil
	}
	names := []string{string(root.Vendor), string(root.Product)}
	for oem := range root.OEM {
		names = append(names, oem)
	}
	for _, name := range names {
		if v := vendorOf(name); v != Standard {
			return v, nil
		}
	}
	return Standard, nil
}

// quirksOf returns the quirks of a system.
func (c *Client) quirksOf(ctx context.Context, s System) (quirks, error) {
	v, err := c.vendor(ctx, s)
	return c.quirks(v), err
}

// serviceQuirks returns the quirks for resources that belong to no system. A system that was read
// identifies the vendor better than the service root does.
func (c *Client) serviceQuirks(ctx context.Context) (quirks, error) {
	v, err := c.serviceVendor(ctx)
	return c.quirks(v), err
}

func (c *Client) serviceVendor(ctx context.Context) (Vendor, error) {
	var s System
	if known := c.met.Load(); known != nil {
		s.Vendor = *known
	}
	return c.vendor(ctx, s)
}

// allowedResets leaves out reset types that the BMC lists and refuses.
func (q quirks) allowedResets(listed []string) []string {
	if !q.noPowerButton {
		return listed
	}
	return slices.DeleteFunc(slices.Clone(listed), func(v string) bool {
		return strings.EqualFold(v, string(ResetPushPowerButton))
	})
}
