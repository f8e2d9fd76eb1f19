package bmc

import (
	"context"
	"strings"
)

// Indicator is what the LED of a system does.
type Indicator string

const (
	IndicatorOff      Indicator = "Off"
	IndicatorLit      Indicator = "Lit"
	IndicatorBlinking Indicator = "Blinking"
)

// The properties that set it. LocationIndicatorActive replaced IndicatorLED in ComputerSystem
// v1.13.0; many have both.
const (
	indicatorLED      = "IndicatorLED"
	locationIndicator = "LocationIndicatorActive"
)

// SetIndicator sets the LED. Systems that know only on and off blink for both of the
// states that are not off.
func (c *Client) SetIndicator(ctx context.Context, s System, to Indicator) error {
	var value any
	switch s.indicator {
	case indicatorLED:
		value = string(to)
	case locationIndicator:
		value = to != IndicatorOff
	default:
		return c.setChassisIndicator(ctx, s, to)
	}
	return c.quirks(s.Vendor).duringPOST(c.patch(ctx, s.URI, s.ETag, map[string]any{s.indicator: value}))
}

type chassisBody struct {
	ETag           text `json:"@odata.etag"`
	IndicatorLED   text
	LocationActive *bool `json:"LocationIndicatorActive"`
	Links          struct{ ComputerSystems links }
}

// setChassisIndicator sets the LED of the chassis where its only system has none. What it shows is not read at every
// poll, which would be one more request: the client remembers what it has set.
func (c *Client) setChassisIndicator(ctx context.Context, s System, to Indicator) error {
	op := "set indicator of " + s.URI
	if s.chassis == "" {
		return c.unsupported(op, "neither the system nor a chassis has an indicator")
	}
	var body chassisBody
	etag, err := c.get(ctx, s.chassis, &body)
	if err != nil {
		return err
	}
	if etag == "" {
		etag = string(body.ETag)
	}
	change := map[string]any{}
	switch {
	case len(body.Links.ComputerSystems) > 1:
		return c.unsupported(op, "the system has no indicator, and that of its chassis is not its alone")
	case body.IndicatorLED != "":
		change[indicatorLED] = string(to)
	case body.LocationActive != nil:
		change[locationIndicator] = to != IndicatorOff
	default:
		return c.unsupported(op, "neither the system nor its chassis has an indicator")
	}
	if err := c.patch(ctx, s.chassis, etag, change); err != nil {
		return c.quirks(s.Vendor).duringPOST(err)
	}
	c.lights.Store(s.URI, to)
	return nil
}

// Shows reports whether the LED is as SetIndicator would make it.
func (s System) Shows(to Indicator) bool {
	if s.indicator == locationIndicator {
		return strings.EqualFold(s.IndicatorLED, string(IndicatorOff)) == (to == IndicatorOff)
	}
	return strings.EqualFold(s.IndicatorLED, string(to))
}
