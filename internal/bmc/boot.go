package bmc

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// BootTarget is where a machine boots from, once.
type BootTarget string

const (
	// BootNone clears the override: the machine's own boot order counts.
	BootNone     BootTarget = ""
	BootPXE      BootTarget = "Pxe"
	BootUEFIHTTP BootTarget = "UefiHttp"
	BootDisk     BootTarget = "Hdd"
	// BootSetup boots nothing: the machine stays in the setup of its firmware.
	BootSetup BootTarget = "BiosSetup"
)

// Properties of Boot, and their values where there is no override.
const (
	enabledProperty  = "BootSourceOverrideEnabled"
	targetProperty   = "BootSourceOverrideTarget"
	overrideDisabled = "Disabled"
	overrideNone     = "None"
)

// BootOverride is what the next boot, and only that, shall do.
type BootOverride struct {
	Target BootTarget
	// URI is what BootUEFIHTTP loads; empty: what DHCP says.
	URI string
}

// BootState is the Boot object of a system.
type BootState struct {
	Enabled string // Disabled, Once, Continuous
	Target  string
	Mode    string // UEFI, Legacy; "" where the system has no such property
	HTTPURI string
	// Targets are those the BMC allows; empty: it does not say.
	Targets []string
	// Modes likewise.
	Modes []string
	// Order is the persistent boot order, by reference of boot option.
	Order []string
	// SettingsURI is where some BMCs want changes written.
	SettingsURI string
	// Lasts: an override cannot be disabled, only replaced by another.
	Lasts bool
}

// bootBody is the Boot object on the wire.
type bootBody struct {
	Enabled  text  `json:"BootSourceOverrideEnabled"`
	Target   text  `json:"BootSourceOverrideTarget"`
	Mode     text  `json:"BootSourceOverrideMode"`
	HTTPURI  text  `json:"HttpBootUri"`
	Targets  texts `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	Enableds texts `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	Modes    texts `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
	Order    texts `json:"BootOrder"`
}

func (b bootBody) state(settings string) BootState {
	return BootState{
		Enabled:     string(b.Enabled),
		Target:      string(b.Target),
		Mode:        string(b.Mode),
		HTTPURI:     string(b.HTTPURI),
		Targets:     b.Targets,
		Modes:       b.Modes,
		Order:       b.Order,
		SettingsURI: settings,
		Lasts:       !allows(b.Enableds, overrideDisabled),
	}
}

// Offers reports whether the system can boot that way, as far as its BMC tells.
func (b BootState) Offers(t BootTarget) bool { return t == BootNone || allows(b.Targets, string(t)) }

// allows reports whether a value is among those that a BMC allows, or it does not say which those are.
func allows(values []string, v string) bool {
	return len(values) == 0 || slices.ContainsFunc(values, func(allowed string) bool { return strings.EqualFold(allowed, v) })
}

// cleared says that there is no override, so that clearing it needs no request. Where the BMC has no target None, an
// override that boots the disk is as good as none.
func (b BootState) cleared() bool {
	return strings.EqualFold(b.Enabled, overrideDisabled) || b.Target == "" || strings.EqualFold(b.Target, overrideNone) ||
		!allows(b.Targets, overrideNone) && strings.EqualFold(b.Target, string(BootDisk))
}

// SetBoot sets the override of the next boot. s should be as fresh as can be: its ETag is
// the condition of the change.
func (c *Client) SetBoot(ctx context.Context, s System, o BootOverride) error {
	op := "set boot override of " + s.URI
	if !s.Boot.Offers(o.Target) {
		return c.unsupported(op, "boot target %s is not among %s", o.Target, strings.Join(s.Boot.Targets, ", "))
	}
	q, err := c.quirksOf(ctx, s)
	if err != nil {
		return err
	}
	if o.Target == BootNone {
		return c.clearBoot(ctx, s, q)
	}
	return c.patchBoot(ctx, s, q, q.bootPatch(s.Boot, o))
}

// clearBoot takes the override away, by what the system offers for it; what one way is refused for, the next may do.
func (c *Client) clearBoot(ctx context.Context, s System, q quirks) error {
	if s.Boot.cleared() && !q.bootInSettings {
		return nil // a settings resource may hold an override that the system does not show yet
	}
	patches := q.clearing(s.Boot)
	if len(patches) == 0 {
		return c.unsupported("clear boot override of "+s.URI, "the system offers neither the target None, nor a disabled override, nor the target Hdd")
	}
	var first error
	for _, patch := range patches {
		err := c.patchBoot(ctx, s, q, patch)
		if err == nil || !refusesValue(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// clearing are the changes that take an override away, the best first: the boot order of the machine counts again
// (DSP0268, Boot), or it boots from disk, which is what that order is wanted for.
func (q quirks) clearing(now BootState) (patches []map[string]any) {
	if allows(now.Targets, overrideNone) {
		patch := map[string]any{targetProperty: overrideNone}
		if !now.Lasts && !q.noEnabledWithNone {
			patch[enabledProperty] = overrideDisabled
		}
		if patches = append(patches, patch); len(now.Targets) > 0 {
			return patches // it says so itself
		}
	}
	if !now.Lasts {
		patches = append(patches, map[string]any{enabledProperty: overrideDisabled})
	}
	if allows(now.Targets, string(BootDisk)) {
		patches = append(patches, q.bootPatch(now, BootOverride{Target: BootDisk}))
	}
	return patches
}

// refusesValue reports whether a change was refused for what it says, as far as can be told: some firmware
// answers 500 to a value that it does not know. A change that would be taken later is not one of those.
func refusesValue(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return e.Kind == KindRejected // and not "later", in a vendor's words
	case http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return false
}

// SetBootOrder sets the persistent boot order, by reference of boot option. Some firmware
// takes it over with the next boot only.
func (c *Client) SetBootOrder(ctx context.Context, s System, order []string) error {
	if slices.Equal(s.Boot.Order, order) {
		return nil
	}
	for _, reference := range order {
		if !slices.Contains(s.Boot.Order, reference) {
			return c.unsupported("set boot order of "+s.URI, "%q is not among %s", reference, strings.Join(s.Boot.Order, ", "))
		}
	}
	q, err := c.quirksOf(ctx, s)
	if err != nil {
		return err
	}
	return c.patchBoot(ctx, s, q, map[string]any{"BootOrder": order})
}

// patchBoot changes Boot where the vendor takes it.
func (c *Client) patchBoot(ctx context.Context, s System, q quirks, change map[string]any) (err error) {
	path, etag := s.URI, s.ETag
	if q.bootInSettings && s.Boot.SettingsURI != "" {
		path = s.Boot.SettingsURI
		if etag, err = c.etag(ctx, path); err != nil {
			return err
		}
	}
	err = c.patch(ctx, path, etag, map[string]any{"Boot": change})
	return q.duringPOST(err)
}

// bootPatch is the Boot object to send for an override. HttpBootUri goes along only where it is
// meant: older schemas (before ComputerSystem v1.9.0) do not know it.
func (q quirks) bootPatch(now BootState, o BootOverride) map[string]any {
	patch := map[string]any{
		enabledProperty: "Once",
		targetProperty:  string(o.Target),
	}
	if q.sendsUEFI(now) {
		patch["BootSourceOverrideMode"] = "UEFI"
	}
	if o.Target == BootUEFIHTTP && o.URI != "" {
		patch["HttpBootUri"] = o.URI
	}
	return patch
}

func (q quirks) sendsUEFI(now BootState) bool {
	is := func(v string) bool { return strings.EqualFold(v, "UEFI") }
	switch {
	case now.Mode == "":
		return false
	case len(now.Modes) > 0 && !slices.ContainsFunc(now.Modes, is):
		return false
	default:
		return q.mode == modeWherePresent || !is(now.Mode)
	}
}

// duringPOST turns the refusals of a machine that is in POST into "later".
func (q quirks) duringPOST(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.StatusCode != http.StatusBadRequest || !slices.Contains(q.busy, e.MessageID) {
		return err
	}
	later := *e
	later.Kind = KindServer
	return &later
}
