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
	return t != ResetPushPowerButton || s.PowerState == PowerOn || s.PowerState == PowerOff
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
		s.ResetTypes = c.quirks(s.Vendor).allowedResets(values)
	}
	allowed, ok := s.NearestReset(t)
	if !ok {
		return c.unsupported(r.op(), "reset type %s is not among %s", t, strings.Join(s.ResetTypes, ", "))
	}
	r.body = map[string]any{"ResetType": allowed}
	_, err := c.do(ctx, r)
	return c.quirks(s.Vendor).duringPOST(err)
}

// ResetManager restarts the BMC itself, and says how: in the way asked for or the nearest that is
// allowed. Sessions end with it; what follows logs in again.
func (c *Client) ResetManager(ctx context.Context, t ResetType) (ResetType, error) {
	place, err := c.place(ctx)
	if err != nil {
		return "", err
	}
	body, err := c.readManager(ctx, place.manager)
	if err != nil {
		return "", err
	}
	action := body.Actions.Reset
	target, ok := resourcePath(string(action.Target))
	if !ok {
		target = strings.TrimSuffix(place.manager, "/") + "/Actions/Manager.Reset"
	}
	r := call{method: http.MethodPost, path: target}
	allowed := System{ResetTypes: action.Values}
	if info, ok := resourcePath(string(action.Info)); ok && len(action.Values) == 0 {
		if allowed.ResetTypes, err = c.resetTypes(ctx, info); Unreachable(err) {
			return "", err
		}
	}
	if t, ok = allowed.NearestReset(t); !ok {
		return "", c.unsupported(r.op(), "none of the reset types %s will do", strings.Join(allowed.ResetTypes, ", "))
	}
	r.body = map[string]any{"ResetType": t}
	_, err = c.do(ctx, r)
	return t, err
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
