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
		return c.unsupported("set indicator of "+s.URI, "the system has no indicator")
	}
	return c.ways(s.Vendor).duringPOST(c.patch(ctx, s.URI, s.ETag, map[string]any{s.indicator: value}))
}

// Shows says whether the LED is as SetIndicator would make it.
func (s System) Shows(to Indicator) bool {
	if s.indicator == locationIndicator {
		return strings.EqualFold(s.IndicatorLED, string(IndicatorOff)) == (to == IndicatorOff)
	}
	return strings.EqualFold(s.IndicatorLED, string(to))
}
