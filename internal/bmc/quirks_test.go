package bmc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/test/await"
)

const simPassword = "marker-Password.7"

// rack is one simulated BMC.
type rack struct {
	*sim.Rack
	t *testing.T
}

func newRack(t *testing.T, v sim.Vendor, seed int64, faults ...fault.Kind) *rack {
	t.Helper()
	o := sim.Options{
		Servers: 1, Username: "admin", Password: simPassword, Seed: seed, Vendors: []sim.Vendor{v},
		Timing:  sim.Timing{POST: time.Minute, Update: 20 * time.Millisecond, ManagerReset: 20 * time.Millisecond},
		BootURL: func() string { return "http://127.0.0.1:1/" },
	}
	for _, kind := range faults {
		o.Faults = append(o.Faults, fault.Spec{Kind: kind, Share: 1})
	}
	r, err := sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.WithoutCancel(t.Context())) })
	return &rack{r, t}
}

func (r *rack) client(o bmc.Options) *bmc.Client {
	info := r.BMCs()[0]
	c := bmc.NewClient(
		bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port},
		bmc.Credentials{Username: "admin", Password: simPassword}, o,
	)
	r.t.Cleanup(func() { _ = c.Close(context.WithoutCancel(r.t.Context())) })
	return c
}

// image is firmware for the BMC to fetch.
func (r *rack) image() string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("firmware")) }))
	r.t.Cleanup(s.Close)
	return s.URL + "/bios-9.9.bin"
}

// attempt is something that works only if the client knows the quirk.
type attempt func(ctx context.Context, r *rack, c *bmc.Client) error

// system is the only one.
func system(ctx context.Context, c *bmc.Client) (bmc.System, error) {
	all, err := c.Systems(ctx)
	if err != nil || len(all) != 1 {
		return bmc.System{}, fmt.Errorf("%d systems: %w", len(all), err)
	}
	return all[0], nil
}

// boots sets one override after the other.
func boots(targets ...bmc.BootTarget) attempt {
	return func(ctx context.Context, _ *rack, c *bmc.Client) error {
		for _, target := range targets {
			s, err := system(ctx, c)
			if err != nil {
				return err
			}
			if err := c.SetBoot(ctx, s, bmc.BootOverride{Target: target}); err != nil {
				return fmt.Errorf("boot %q: %w", target, err)
			}
			if s, err = system(ctx, c); err != nil || s.Boot.Target != string(target) && target != bmc.BootNone {
				return fmt.Errorf("override %q, want %q: %w", s.Boot.Target, target, err)
			}
		}
		return nil
	}
}

// later wants a refusal that means "later".
func later(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	if err := c.Reset(ctx, s, bmc.ResetOn); err != nil {
		return err
	}
	if s, err = c.System(ctx, s.URI); err != nil {
		return err
	}
	err = c.SetBoot(ctx, s, bmc.BootOverride{Target: bmc.BootPXE})
	if bmc.KindOf(err) == bmc.KindServer {
		return nil
	}
	return fmt.Errorf("during POST: %w", err)
}

// noButton wants the button left alone.
func noButton(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	if err = c.Reset(ctx, s, bmc.ResetPushPowerButton); bmc.KindOf(err) == bmc.KindUnsupported {
		return nil
	}
	return fmt.Errorf("button: %w", err)
}

func newAccount(ctx context.Context, c *bmc.Client) (bmc.Account, bmc.Secret, error) {
	rules, err := c.PasswordRules(ctx)
	if err != nil {
		return bmc.Account{}, "", err
	}
	password, err := rules.NewPassword()
	if err != nil {
		return bmc.Account{}, "", err
	}
	a, err := c.CreateAccount(ctx, bmc.AccountSpec{Username: "farrier", Password: password})
	return a, password, err
}

// passwords gives an account so many made passwords that every character which may be in one
// is in one: a single one may happen to have none that a vendor refuses.
func passwords(ctx context.Context, _ *rack, c *bmc.Client) error {
	a, _, err := newAccount(ctx, c)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	rules, err := c.PasswordRules(ctx)
	if err != nil {
		return err
	}
	for range 40 {
		password, err := rules.NewPassword()
		if err != nil {
			return err
		}
		if err := c.SetPassword(ctx, a, password); err != nil {
			return fmt.Errorf("password: %w", err)
		}
	}
	return nil
}

// account goes through the life of one.
func account(ctx context.Context, r *rack, c *bmc.Client) error {
	a, password, err := newAccount(ctx, c)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := c.Verify(ctx, bmc.Credentials{Username: a.Username, Password: password}); err != nil || a.Role != "Administrator" || !a.Enabled {
		return fmt.Errorf("account %+v: %w", a, err)
	}
	if err := c.SetPassword(ctx, a, "Another.Word.77"); err != nil {
		return fmt.Errorf("password: %w", err)
	}
	if err := c.Verify(ctx, bmc.Credentials{Username: a.Username, Password: "Another.Word.77"}); err != nil {
		return fmt.Errorf("new password: %w", err)
	}
	if err := c.Verify(ctx, bmc.Credentials{Username: a.Username, Password: password}); bmc.KindOf(err) != bmc.KindAuthentication || !errors.Is(err, bmc.ErrNotVerified) {
		return fmt.Errorf("old password: %w", err)
	}
	if a, _, err = c.FindAccount(ctx, a.Username); err != nil {
		return err
	}
	if err := c.DeleteAccount(ctx, a); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if _, found, err := c.FindAccount(ctx, "farrier"); err != nil || found {
		return fmt.Errorf("deleted account found: %v, %w", found, err)
	}
	return nil
}

func subscribe(ctx context.Context, _ *rack, c *bmc.Client) error {
	want := bmc.Subscription{Destination: "http://127.0.0.1:1/marker-path", Context: "farrier"}
	first, err := c.Subscribe(ctx, want)
	if err != nil {
		return err
	}
	again, err := c.Subscribe(ctx, want)
	if err != nil || again.URI != first.URI {
		return fmt.Errorf("again: %s, %w", again.URI, err)
	}
	metrics := want
	metrics.Format = bmc.FormatMetricReport
	if other, err := c.Subscribe(ctx, metrics); err != nil || other.URI == first.URI {
		return fmt.Errorf("another format: %s, %w", other.URI, err)
	}
	list, err := c.Subscriptions(ctx, func(d string) bool { return d == want.Destination.Reveal() })
	if err != nil || len(list) != 2 {
		return fmt.Errorf("%d subscriptions: %w", len(list), err)
	}
	for _, s := range list {
		if err := c.Unsubscribe(ctx, s); err != nil {
			return err
		}
		if err := c.Unsubscribe(ctx, s); err != nil {
			return fmt.Errorf("once more: %w", err)
		}
	}
	return nil
}

// subscribeTwice meets a subscription that the BMC does not show until it refuses a second one.
func subscribeTwice(ctx context.Context, r *rack, c *bmc.Client) error {
	if _, err := system(ctx, c); err != nil {
		return err
	}
	want := bmc.Subscription{Destination: "http://127.0.0.1:1/marker-path", Context: "farrier"}
	first, err := c.Subscribe(ctx, want)
	if err != nil {
		return err
	}
	hidden := r.strike(fault.Spec{Kind: fault.ServerError, Path: "/Subscriptions/[^/]+$"})
	r.SetFault(0, sim.FaultFunc(func(request *http.Request) sim.Effect {
		if request.Method == http.MethodPost {
			hidden()
		}
		return sim.EffectNone
	}))
	if again, err := c.Subscribe(ctx, want); err != nil || again.URI != first.URI {
		return fmt.Errorf("again: %s, %w", again.URI, err)
	}
	return nil
}

func update(ctx context.Context, r *rack, c *bmc.Client) error {
	if _, err := system(ctx, c); err != nil {
		return err
	}
	task, err := c.SimpleUpdate(ctx, bmc.Update{ImageURI: r.image(), Protocol: "HTTP"})
	if err != nil {
		return err
	}
	return updated(ctx, r, c, task)
}

// updated follows the task of an update of the BIOS.
func updated(ctx context.Context, r *rack, c *bmc.Client, task bmc.Task) (err error) {
	await.True(r.t, "the task ends", func() bool {
		if err == nil && !task.State.Ended() {
			task, err = c.Task(ctx, task.URI)
		}
		return err != nil || task.State.Ended() || task.Said == "Pending"
	})
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	if err := updatedAtStart(ctx, r, c); err != nil {
		return err
	}
	if task, err = c.Task(ctx, task.URI); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	if s, err := system(ctx, c); err != nil || task.State != bmc.TaskCompleted || s.BIOSVersion != "9.9" {
		return fmt.Errorf("task %+v, version %s: %w", task, s.BIOSVersion, err)
	}
	return nil
}

// updatedAtStart starts the machine where the BIOS that was written is not there yet.
func updatedAtStart(ctx context.Context, r *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil || s.BIOSVersion == "9.9" {
		return err
	}
	_, err = r.Machine(0).Reset("On")
	return err
}

func reversed(ctx context.Context, _ *rack, c *bmc.Client) error {
	s, err := system(ctx, c)
	if err != nil {
		return err
	}
	order := slices.Clone(s.Boot.Order)
	slices.Reverse(order)
	if err := c.SetBootOrder(ctx, s, order); err != nil {
		return err
	}
	if s, err = system(ctx, c); err != nil || !slices.Equal(s.Boot.Order, order) {
		return fmt.Errorf("order %v, want %v: %w", s.Boot.Order, order, err)
	}
	return nil
}

// TestQuirks shows for each quirk that it works, and that a client without it fails.
func TestQuirks(t *testing.T) {
	for _, test := range []struct {
		vendor sim.Vendor
		quirk  string
		try    attempt
		seed   int64
	}{
		{sim.Dell, "boot mode only on change", boots(bmc.BootPXE, bmc.BootDisk), 1},
		{sim.Dell, "account changed as a whole", account, 1},
		{sim.Dell, "update without If-Match", update, 1},
		{sim.Dell, "update without If-Match", push, 1},
		{sim.Dell, "repeated subscription", subscribeTwice, 1},
		{sim.HPE, "no Enabled with None", boots(bmc.BootPXE, bmc.BootNone), 1},
		{sim.HPE, "POST means later", later, 1},
		{sim.HPE, "no delivery retry policy", subscribe, 1},
		{sim.Lenovo, "no power button", noButton, 1},
		{sim.Lenovo, "accounts blanked", account, 1},
		{sim.Lenovo, "characters of passwords", passwords, 1},
		{sim.Lenovo, "task that becomes a job", update, 1},
		{sim.Supermicro, "boot mode always", boots(bmc.BootPXE), 1},
		{sim.Supermicro, "characters of passwords", passwords, 1},
		{sim.AMI, "boot in settings", boots(bmc.BootPXE, bmc.BootNone), 1},
		{sim.AMI, "boot in settings", reversed, 1},
		{sim.AMI, "characters of passwords", passwords, 1},
	} {
		t.Run(string(test.vendor)+" "+test.quirk, func(t *testing.T) {
			r := newRack(t, test.vendor, test.seed)
			if err := test.try(t.Context(), r, r.client(bmc.Options{})); err != nil {
				t.Errorf("with the quirk: %v", err)
			}
			r = newRack(t, test.vendor, test.seed)
			if err := test.try(t.Context(), r, r.client(bmc.Without(bmc.Options{}, test.quirk))); err == nil {
				t.Error("a client without the quirk does it as well")
			} else {
				t.Logf("without the quirk: %v", err)
			}
		})
	}
}

// All of it works at every vendor's BMC.
func TestEveryVendor(t *testing.T) {
	for _, v := range sim.Vendors() {
		for name, try := range map[string]attempt{
			"boot": boots(bmc.BootPXE, bmc.BootDisk, bmc.BootUEFIHTTP, bmc.BootNone), "boot order": reversed, "account": account,
			"subscriptions": subscribe, "update": update, "push": push, "BIOS": biosSettings, "indicator": indicator, "manager": managerReset,
			"own password": ownPassword, "log": readLog, "firmware": listFirmware,
		} {
			t.Run(string(v)+" "+name, func(t *testing.T) {
				r := newRack(t, v, 1)
				if err := try(t.Context(), r, r.client(bmc.Options{})); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Rows of the table that are not one vendor's: beside each stands what a client does that does
// not know it.
func TestQuirksOfAll(t *testing.T) {
	for _, test := range []struct {
		name   string
		vendor sim.Vendor
		faults []fault.Kind
		try    attempt
		naive  attempt
	}{
		{"accounts are slots", sim.Lenovo, nil, account, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			body := map[string]any{"UserName": "farrier", "Password": "Another.Word.77", "RoleId": "Administrator"}
			return c.Send(ctx, http.MethodPost, "/redfish/v1/AccountService/Accounts", "", body)
		}},
		{"a stale ETag", sim.Standard, nil, staleETag((*bmc.Client).SetIndicator), staleETag(func(c *bmc.Client, ctx context.Context, s bmc.System, to bmc.Indicator) error {
			return c.Send(ctx, http.MethodPatch, s.URI, s.ETag, map[string]any{"IndicatorLED": to})
		})},
		{"no Storage", sim.Standard, []fault.Kind{fault.NoStorage}, drives, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			s, err := system(ctx, c)
			if err != nil {
				return err
			}
			body, err := c.Get(ctx, s.URI)
			if err == nil && body["Storage"] == nil {
				err = errors.New("no Storage")
			}
			return err
		}},
		{"one broken member", sim.Standard, []fault.Kind{fault.MemberError}, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			_, err := system(ctx, c)
			return err
		}, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			uris, err := c.Members(ctx, "/redfish/v1/Systems")
			for _, uri := range uris {
				if _, failed := c.System(ctx, uri); failed != nil {
					return failed
				}
			}
			return err
		}},
		{"no power state", sim.Standard, []fault.Kind{fault.NoPowerState}, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			if s, err := system(ctx, c); err != nil || s.PowerState != bmc.PowerUnknown {
				return fmt.Errorf("power %s: %w", s.PowerState, err)
			}
			return nil
		}, nil},
		{"no boot target", sim.Standard, []fault.Kind{fault.NoBootTarget}, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			if all, err := c.Systems(ctx); err != nil || len(all) != 0 {
				return fmt.Errorf("%d servers: %w", len(all), err)
			}
			return nil
		}, nil},
		{"no UUID", sim.Standard, []fault.Kind{fault.NoUUID}, func(ctx context.Context, _ *rack, c *bmc.Client) error {
			if s, err := system(ctx, c); err != nil || s.UUID != "" {
				return fmt.Errorf("UUID %s: %w", s.UUID, err)
			}
			return nil
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRack(t, test.vendor, 1, test.faults...)
			if err := test.try(t.Context(), r, r.client(bmc.Options{})); err != nil {
				t.Error(err)
			}
			if test.naive == nil {
				return
			}
			r = newRack(t, test.vendor, 1, test.faults...)
			if err := test.naive(t.Context(), r, r.client(bmc.Options{})); err == nil {
				t.Error("a client that does not know it does it as well")
			}
		})
	}
}
