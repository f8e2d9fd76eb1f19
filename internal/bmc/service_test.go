package bmc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/test/await"
)

func biosSettings(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	b, err := c.BIOS(ctx, s.URI)
	if err != nil {
		return err
	}
	registry, err := c.AttributeRegistry(ctx, b.Registry)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	change := map[string]any{"BootRetryCount": int64(5), "QuietBoot": true, "SystemProfile": "Quiet"}
	if err := registry.Check(change); err != nil || !registry.NeedsReset(change) {
		return fmt.Errorf("check: %w", err)
	}
	for name, v := range map[string]any{"BootRetryCount": int64(99), "QuietBoot": "yes", "SystemProfile": "Loud", "SystemServiceTag": "x", "Nothing": 1} {
		if registry.Check(map[string]any{name: v}) == nil {
			return fmt.Errorf("%s = %v is good", name, v)
		}
	}
	if _, err := c.SetBIOS(ctx, b, change, "OnReset"); err != nil {
		return fmt.Errorf("set: %w", err)
	}
	if _, err := c.SetBIOS(ctx, b, change, "AtMaintenanceWindowStart"); bmc.KindOf(err) != bmc.KindUnsupported {
		return fmt.Errorf("apply time: %w", err)
	}
	pending, err := c.PendingBIOS(ctx, b)
	if err != nil || len(pending) != len(change) || pending["BootRetryCount"] != int64(5) {
		return fmt.Errorf("pending %v: %w", pending, err)
	}
	if err := c.Reset(ctx, s, bmc.ResetOn); err != nil {
		return err
	}
	if b, err = c.BIOS(ctx, s.URI); err != nil || b.Attributes["QuietBoot"] != true || b.Attributes["SystemProfile"] != "Quiet" {
		return fmt.Errorf("after the reset %v: %w", b.Attributes, err)
	}
	return c.ResetBIOS(ctx, b)
}

func indicator(ctx context.Context, _ *rack, c *bmc.Client) error {
	for _, to := range []bmc.Indicator{bmc.IndicatorBlinking, bmc.IndicatorOff, bmc.IndicatorLit} {
		s, err := system(ctx, c)
		if err != nil {
			return err
		}
		if err := c.SetIndicator(ctx, s, to); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		if s, err = system(ctx, c); err != nil || !s.Shows(to) {
			return fmt.Errorf("shows %s, want %s: %w", s.IndicatorLED, to, err)
		}
	}
	return nil
}

func managerReset(ctx context.Context, r *rack, c *bmc.Client) error {
	if _, err := system(ctx, c); err != nil {
		return err
	}
	if _, err := c.ResetManager(ctx, bmc.ResetForceOff); bmc.KindOf(err) != bmc.KindUnsupported {
		return fmt.Errorf("a BMC was switched off: %w", err)
	}
	if how, err := c.ResetManager(ctx, bmc.ResetGracefulRestart); err != nil || how != bmc.ResetGracefulRestart {
		return fmt.Errorf("%s: %w", how, err)
	}
	await.Nil(r.t, "the BMC is back", func() error {
		_, err := system(ctx, c)
		return err
	})
	if s := r.Stats(0); s.Logins > 2 {
		return fmt.Errorf("%d logins", s.Logins)
	}
	return nil
}

// ownPassword: who changes its own password goes on with the new one.
func ownPassword(ctx context.Context, r *rack, c *bmc.Client) error {
	if _, err := system(ctx, c); err != nil {
		return err
	}
	a, found, err := c.FindAccount(ctx, "admin")
	if err != nil || !found {
		return fmt.Errorf("found %v: %w", found, err)
	}
	next := bmc.Credentials{Username: "admin", Password: "Another.Word.77"}
	if err := c.SetPassword(ctx, a, next.Password); err != nil {
		return err
	}
	if _, err := system(ctx, c); err != nil || !c.Uses(ctx, next) {
		return fmt.Errorf("afterwards: %w", err)
	}
	if err := c.Close(ctx); err != nil {
		return err
	}
	if _, err := system(ctx, c); err != nil {
		return fmt.Errorf("in a new session: %w", err)
	}
	if s := r.Stats(0); s.Refused != 0 {
		return fmt.Errorf("%d refused", s.Refused)
	}
	return nil
}

func readLog(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	if err := c.Reset(ctx, s, bmc.ResetOn); err != nil {
		return err
	}
	entries, err := c.Log(ctx, s.URI, 10)
	if err != nil || len(entries) == 0 || len(entries) > 10 || entries[0].Message == "" || entries[0].Created.IsZero() {
		return fmt.Errorf("%d entries %+v: %w", len(entries), entries, err)
	}
	return nil
}

func listFirmware(ctx context.Context, _ *rack, c *bmc.Client) error {
	list, err := c.Firmware(ctx)
	if err != nil || len(list) < 2 || list[0].Version == "" {
		return fmt.Errorf("%+v: %w", list, err)
	}
	return nil
}

func drives(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	inv, err := c.Inventory(ctx, s.URI)
	if err != nil || len(inv.Storage) == 0 || len(inv.Storage[0].Drives) == 0 {
		return errors.Join(errors.New("no drives"), err)
	}
	return nil
}

// staleETag changes a system that somebody else has changed since it was read.
func staleETag(set func(*bmc.Client, context.Context, bmc.System, bmc.Indicator) error) attempt {
	return func(ctx context.Context, _ *rack, c *bmc.Client) error {
		s, err := system(ctx, c)
		if err != nil {
			return err
		}
		if err := c.SetIndicator(ctx, s, bmc.IndicatorLit); err != nil {
			return err
		}
		return set(c, ctx, s, bmc.IndicatorBlinking)
	}
}
