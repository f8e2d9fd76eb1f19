package bmc

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// ResetType is a value of Resource.ResetType.
type ResetType string

const (
	ResetOn               ResetType = "On"
	ResetForceOn          ResetType = "ForceOn"
	ResetForceOff         ResetType = "ForceOff"
	ResetGracefulShutdown ResetType = "GracefulShutdown"
	ResetGracefulRestart  ResetType = "GracefulRestart"
	ResetForceRestart     ResetType = "ForceRestart"
	ResetPowerCycle       ResetType = "PowerCycle"
	ResetPushPowerButton  ResetType = "PushPowerButton"
)

// nearest holds, for each reset, those that do the same to the machine, best
// first. None is harder than the one asked for, but for restarts, which all
// lose what runs.
var nearest = map[ResetType][]ResetType{
	ResetOn:               {ResetForceOn, ResetPushPowerButton},
	ResetForceOn:          {ResetOn, ResetPushPowerButton},
	ResetGracefulShutdown: {ResetPushPowerButton},
	ResetGracefulRestart:  {ResetForceRestart, ResetPowerCycle},
	ResetForceRestart:     {ResetPowerCycle, ResetGracefulRestart},
	ResetPowerCycle:       {ResetForceRestart},
}

// NearestReset returns t where the BMC allows it, or else the nearest that it
// allows. A BMC that does not say what it allows gets t.
func (s System) NearestReset(t ResetType) (ResetType, bool) {
	if len(s.ResetTypes) == 0 || s.allows(t) {
		return t, true
	}
	for _, near := range nearest[t] {
		if s.allows(near) && s.buttonDoes(near) {
			return near, true
		}
	}
	return "", false
}

func (s System) allows(t ResetType) bool {
	return slices.ContainsFunc(s.ResetTypes, func(v string) bool { return strings.EqualFold(v, string(t)) })
}

// buttonDoes keeps the power button, which does the one or the other, away from
// systems of which nobody knows what it would do.
func (s System) buttonDoes(t ResetType) bool {
	return t != ResetPushPowerButton ||
		!s.Vendor.ways().noPowerButton && (s.PowerState == PowerOn || s.PowerState == PowerOff)
}

// Reset asks the system for a reset, or for the nearest that its BMC allows. s should be
// as fresh as can be. That the BMC accepts says nothing about when it is done.
func (c *Client) Reset(ctx context.Context, s System, t ResetType) error {
	target := s.resetTarget
	if target == "" {
		target = strings.TrimSuffix(s.URI, "/") + "/Actions/ComputerSystem.Reset"
	}
	r := call{method: http.MethodPost, path: target}
	if len(s.ResetTypes) == 0 && s.resetInfo != "" {
		values, err := c.resetTypes(ctx, s.resetInfo)
		if err != nil && Unreachable(err) {
			return err
		}
		s.ResetTypes = values
	}
	allowed, ok := s.NearestReset(t)
	if !ok {
		return c.unsupported(r.op(), "reset type %s is not among %s", t, strings.Join(s.ResetTypes, ", "))
	}
	r.body = map[string]any{"ResetType": allowed}
	_, err := c.do(ctx, r)
	return s.Vendor.ways().duringPOST(err)
}

// resetTypes reads an ActionInfo: where some services say what an action allows.
func (c *Client) resetTypes(ctx context.Context, path string) ([]string, error) {
	var info struct {
		Parameters []struct {
			Name   text
			Values texts `json:"AllowableValues"`
		}
	}
	if _, err := c.get(ctx, path, &info); err != nil {
		return nil, err
	}
	for _, p := range info.Parameters {
		if p.Name == "ResetType" {
			return p.Values, nil
		}
	}
	return nil, nil
}
