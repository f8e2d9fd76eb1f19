package diagnosis

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Reasons of answers about a machine that no Server stands for.
const (
	ReasonUnknownMachine = "UnknownMachine"
	ReasonNeverAsked     = "NeverAsked"
	ReasonUUIDSwapped    = "UUIDByteOrder"
	ReasonOtherIdentity  = "OtherIdentity"
	ReasonNothingToBoot  = "NothingToBoot"
)

// unknownMachine says why a machine was told that there is nothing for it. A machine with a Server may have been told so, too.
func (f *Facts) unknownMachine() *Answer {
	if f.Claim != nil || f.BMC != nil && f.Server == nil {
		return nil
	}
	if len(f.Unknown) == 0 {
		return f.neverAsked()
	}
	m := &f.Unknown[0]
	a := &Answer{Standing: Trouble, Evidence: []string{f.askedAs(m)}}
	if f.Server != nil {
		a.Reason, a.Cause = ReasonNothingToBoot, f.names(nil).Replace("The machine of {server} asked what to boot, and there is nothing for it: no claim, no Assignment and no boot configuration names it.")
		a.Next = "Claim the Server, or assign a Profile to its machine; a machine that is to stay off needs nothing."
		a.Standing = Waiting
		return a
	}
	server, how := closest(f.Servers, m)
	a.Usual = []string{"Nobody has told Farrier of its BMC: make an Endpoint (docs/bmcs.md).", "It is no machine of Farrier's, and its network asks Farrier's DHCP.", "An Assignment is meant for it, and its selector has another UUID or MAC address."}
	switch {
	case server == nil:
		a.Reason, a.Cause = ReasonUnknownMachine, fmt.Sprintf("No Server and no Assignment knows the machine %s, and no Server is like it; it was told that there is nothing for it.", f.Asked)
		a.Next = "Make an Endpoint for its BMC, or an Assignment that selects it."
	case how.reason == ReasonUUIDSwapped:
		a.Reason, a.Usual = how.reason, nil
		a.Cause = fmt.Sprintf("The machine asks with the UUID of Server %s in another byte order: %s, and the Server has %s.", server.Name, m.UUID, server.Spec.SystemUUID)
		a.Next = "Update the firmware of the machine or of its BMC; until then set the UUID that it asks with in an IPXEBootConfig."
	default:
		a.Reason = how.reason
		a.Cause = fmt.Sprintf("No Server is the machine %s; the closest is Server %s, which differs in %s.", f.Asked, server.Name, how.differs)
		a.Next = fmt.Sprintf("If it is the machine of Server %s, correct the identity of one of them; otherwise make an Endpoint for its BMC.", server.Name)
	}
	return a
}

func (f *Facts) neverAsked() *Answer {
	if f.Server != nil || len(f.Candidates) > 0 {
		return nil
	}
	return &Answer{
		Standing: Trouble, Reason: ReasonNeverAsked, Cause: fmt.Sprintf("No Server is the machine %s, and it has asked the boot server for nothing within the last day.", f.Asked),
		Next:  "Switch it on and look at its console: does it boot from the network?",
		Usual: hops[0].causes,
	}
}

// askedAs is what a machine said when it asked.
func (f *Facts) askedAs(m *bootview.UnknownMachine) string {
	said := fmt.Sprintf("It asked for %s from %s %d times, last %s ago, first at %s", m.Path, cmp.Or(m.Address, "no address"), m.Times, f.ago(m.Last), m.First.UTC().Format(time.RFC3339))
	for _, named := range [][2]string{{"UUID", m.UUID}, {"MAC address", m.MAC}, {"serial number", m.Serial}, {"architecture", m.Architecture}} {
		if named[1] != "" {
			said += fmt.Sprintf(", %s %s", named[0], named[1])
		}
	}
	return said
}

// likeness says how a machine is like a Server.
type likeness struct {
	reason, differs string
	score           int
}

// closest is the Server that is most like a machine; nil: none is.
func closest(servers []metalv1.Server, m *bootview.UnknownMachine) (*metalv1.Server, likeness) {
	var best *metalv1.Server
	var how likeness
	for i := range servers {
		if l := like(&servers[i], m); l.score > how.score {
			best, how = &servers[i], l
		}
	}
	return best, how
}

// like compares what identifies: a UUID in another byte order above all, then a common MAC address or serial number, then a neighbouring MAC
// address, as of another port of the same card.
func like(s *metalv1.Server, m *bootview.UnknownMachine) likeness {
	uuid := strings.ToLower(s.Spec.SystemUUID)
	if swapped := otherOrder(uuid); swapped != "" && strings.EqualFold(swapped, m.UUID) {
		return likeness{reason: ReasonUUIDSwapped, score: 5}
	}
	differs := "its UUID: " + cmp.Or(uuid, "none") + ", and the machine says " + cmp.Or(m.UUID, "none")
	asked, err := identity.MAC(m.MAC)
	near := ""
	for _, n := range s.Status.NetworkInterfaces {
		own, bad := identity.MAC(n.MACAddress)
		switch {
		case err != nil || bad != nil:
		case own == asked:
			return likeness{ReasonOtherIdentity, differs, 4}
		case own[:len(own)-2] == asked[:len(asked)-2]:
			near = own
		}
	}
	if m.Serial != "" && strings.EqualFold(s.Status.SerialNumber, m.Serial) {
		return likeness{ReasonOtherIdentity, differs, 3}
	}
	if near != "" {
		return likeness{ReasonOtherIdentity, "the last byte of a MAC address: " + near + ", and the machine says " + asked, 2}
	}
	if uuid != "" && m.UUID != "" && uuid[:8] == strings.ToLower(m.UUID)[:min(8, len(m.UUID))] && len(m.UUID) == len(uuid) {
		return likeness{ReasonOtherIdentity, differs, 1}
	}
	return likeness{}
}

// otherOrder is a UUID with the first three fields in the other byte order, as firmware before SMBIOS 2.6 spelled them (SMBIOS 3.x §7.2.1);
// empty: it is no UUID.
func otherOrder(uuid string) string {
	raw, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(raw) != 16 {
		return ""
	}
	for _, at := range [][2]int{{0, 3}, {1, 2}, {4, 5}, {6, 7}} {
		raw[at[0]], raw[at[1]] = raw[at[1]], raw[at[0]]
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}
