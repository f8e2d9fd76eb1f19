package bmc

import "strings"

// Vendor names whose ways a BMC has.
type Vendor string

const (
	Standard   Vendor = ""
	Dell       Vendor = "Dell"
	HPE        Vendor = "HPE"
	Lenovo     Vendor = "Lenovo"
	Supermicro Vendor = "Supermicro"
	AMI        Vendor = "AMI"
)

// modeRule says when BootSourceOverrideMode is sent.
type modeRule int

const (
	modeWherePresent modeRule = iota
	modeOnChange
)

// ways are what a vendor does differently from the standard. The zero value
// is the standard.
type ways struct {
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
}

// vendors is searched from the top; names are looked for without case, as prefix or word.
var vendors = []struct {
	vendor Vendor
	names  []string
	ways   ways
}{
	{Dell, []string{"dell"}, ways{mode: modeOnChange}},
	{HPE, []string{"hpe", "hewlett", "hp"}, ways{
		mode:              modeOnChange,
		noEnabledWithNone: true,
		busy:              []string{"UnsupportedOperation", "UnableToModifyDuringSystemPOST"},
	}},
	{Lenovo, []string{"lenovo"}, ways{noPowerButton: true}},
	{Supermicro, []string{"supermicro", "super micro"}, ways{mode: modeWherePresent}},
	{AMI, []string{"ami", "american megatrends", "gigabyte", "giga computing"}, ways{bootInSettings: true}},
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

func (v Vendor) ways() ways {
	for _, known := range vendors {
		if known.vendor == v {
			return known.ways
		}
	}
	return ways{}
}
