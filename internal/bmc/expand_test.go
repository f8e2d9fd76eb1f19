package bmc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// look is all that is read of a BMC when it is met.
type look struct {
	Systems   []bmc.System
	Manager   bmc.Manager
	Inventory []bmc.Inventory
}

func firstLook(ctx context.Context, c *bmc.Client) (l look, err error) {
	if l.Systems, err = c.Systems(ctx); err != nil {
		return l, err
	}
	if l.Manager, err = c.Manager(ctx); err != nil {
		return l, err
	}
	for _, s := range l.Systems {
		inv, err := c.Inventory(ctx, s.URI)
		if err != nil {
			return l, err
		}
		l.Inventory = append(l.Inventory, inv)
	}
	return l, nil
}

// models are seeds of racks whose first machine is of that model.
func models(t *testing.T, v sim.Vendor) map[string]*rack {
	t.Helper()
	found := map[string]*rack{}
	for seed := int64(1); len(found) < 3 && seed < 40; seed++ {
		r := newRack(t, v, seed)
		s, err := system(t.Context(), r.client(bmc.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := found[s.Model]; !ok {
			found[s.Model] = newRack(t, v, seed)
		}
	}
	return found
}

// budget is how many requests the first look at a machine of a model takes, the login among them, of a BMC that expands no level, one level, two
// levels. A machine costs a request for each of its processors, disks, volumes and ports where nothing is expanded; the models have
// 1, 2, 0, 2 (A120), 2, 4, 0, 4 (A240) and 2, 8, 1, 2 (S480) of those.
var budget = map[string][3]int{"A120": {15, 8, 7}, "A240": {20, 8, 7}, "S480": {23, 9, 8}}

// levels is how many levels the BMCs of a vendor expand.
var levels = map[sim.Vendor]int{sim.Standard: 2, sim.Dell: 1, sim.HPE: 1, sim.Lenovo: 2, sim.Supermicro: 0, sim.AMI: 2}

// TestFirstLook counts at the simulated BMC of each vendor what it takes to meet it, and compares what was learnt with
// what a client learns that reads one resource after the other.
func TestFirstLook(t *testing.T) {
	for _, v := range sim.Vendors() {
		for model, r := range models(t, v) {
			t.Run(fmt.Sprint(v, " ", model), func(t *testing.T) {
				mac := r.BMCs()[0].MAC
				got, err := firstLook(t.Context(), r.client(bmc.Options{MACAddress: mac}))
				if err != nil {
					t.Fatal(err)
				}
				requests := r.Stats(0).Requests
				if want := budget[model][levels[v]]; requests != want {
					t.Errorf("%d requests, want %d", requests, want)
				}
				r.strike(fault.Spec{Kind: fault.ExpandLies, Value: "refused"})
				singly, err := firstLook(t.Context(), r.client(bmc.Options{MACAddress: mac}))
				if err != nil {
					t.Fatal(err)
				}
				// One request was refused.
				if n, want := r.Stats(0).Requests-requests, budget[model][0]+1; n != want {
					t.Errorf("%d requests without $expand, want %d", n, want)
				}
				if diff := cmp.Diff(singly, got, cmpopts.IgnoreUnexported(bmc.System{})); diff != "" {
					t.Errorf("what was learnt (-singly +expanded):\n%s", diff)
				}
				if len(got.Inventory) != 1 || len(got.Inventory[0].Interfaces) == 0 || got.Manager.MACAddress != mac {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// The second of two looks at a BMC whose answers are no good asks for none of them again.
func TestExpandIsNotTrustedTwice(t *testing.T) {
	for _, lie := range []string{"ignored", "refused", "cut", "huge"} {
		t.Run(lie, func(t *testing.T) {
			r := newRack(t, sim.Standard, 1)
			want, err := firstLook(t.Context(), r.client(bmc.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			r.strike(fault.Spec{Kind: fault.ExpandLies, Value: lie})
			asked := 0
			c := r.client(bmc.Options{OnRequest: func(q bmc.Request) {
				if strings.Contains(q.Op, "$expand") {
					asked++
				}
			}})
			for range 2 {
				got, err := firstLook(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(bmc.System{})); diff != "" {
					t.Errorf("what was learnt (-good +%s):\n%s", lie, diff)
				}
			}
			if asked != 1 {
				t.Errorf("asked with $expand %d times", asked)
			}
		})
	}
}

// expanding is a scripted service that says it expands.
func expanding(t *testing.T, vendor string) *bmctest.Server {
	t.Helper()
	s := bmctest.New(t)
	s.Update(bmctest.Root, func(r bmctest.Resource) {
		r["Vendor"] = vendor
		r["ProtocolFeaturesSupported"] = bmctest.Resource{"ExpandQuery": bmctest.Resource{"ExpandAll": true, "NoLinks": true, "Levels": true, "MaxLevels": 1}}
	})
	return s
}

// asked counts the requests with $expand.
func asked(s *bmctest.Server) (n int) {
	for _, r := range s.Requests() {
		if strings.Contains(r.Query, "$expand") {
			n++
		}
	}
	return n
}

// TestExpandThatIsALie: the table knows a make that refuses what its service root offers.
func TestExpandThatIsALie(t *testing.T) {
	s := expanding(t, "IBM")
	if _, err := firstLook(t.Context(), client(t, s)); err != nil || asked(s) != 0 {
		t.Errorf("with the quirk: asked %d times, %v", asked(s), err)
	}
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Without(bmc.Options{}, "$expand that is a lie"))
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	if _, err := firstLook(t.Context(), c); err != nil || asked(s) != 1 {
		t.Errorf("without the quirk: asked %d times, %v", asked(s), err)
	}
}

// answers are what a BMC may answer in place of its systems with their members.
func TestExpandedAnswersThatAreNoGood(t *testing.T) {
	whole := bmctest.ComputerSystem(bmctest.System)
	body := func(status int, body any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { bmctest.JSON(w, status, body) }
	}
	text := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		again  int // requests with $expand in a second list
	}{
		"good":                      {body(200, bmctest.Resource{"Members": []any{whole}, "Members@odata.count": 1}), 1},
		"no count":                  {body(200, bmctest.Resource{"Members": []any{whole}}), 1},
		"some links":                {body(200, bmctest.Resource{"Members": []any{whole, bmctest.Ref(bmctest.System)}}), 1},
		"an excerpt":                {body(200, bmctest.Resource{"Members": []any{bmctest.Resource{"@odata.id": bmctest.System, "Id": "1"}}}), 1},
		"links":                     {body(200, bmctest.Resource{"Members": []any{bmctest.Ref(bmctest.System)}}), 0},
		"too few":                   {body(200, bmctest.Resource{"Members": []any{whole}, "Members@odata.count": 2}), 0},
		"no members":                {body(200, bmctest.Resource{"@odata.id": bmctest.Systems}), 0},
		"members that are nowhere":  {body(200, bmctest.Resource{"Members": []any{bmctest.Resource{"Id": "1"}}}), 0},
		"no object":                 {body(200, []any{whole}), 0},
		"no JSON":                   {text(`{"Members": [{"@odata.id": "/redfish/v1/Sys`), 0},
		"too long":                  {text(`{"Members": [], "Oem": "` + strings.Repeat("x", 2<<20) + `"}`), 0},
		"400":                       {body(400, bmctest.Resource{}), 0},
		"404":                       {body(404, bmctest.Resource{}), 0},
		"500":                       {body(500, bmctest.Resource{}), 0},
		"501":                       {body(501, bmctest.Resource{}), 0},
		"507":                       {body(507, bmctest.Resource{}), 0},
		"a redirect without query":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, bmctest.Systems, http.StatusFound) }, 0},
		"an answer that never ends": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := expanding(t, "Contoso")
			plain := bmctest.Collection(bmctest.Systems, bmctest.System)
			s.Handle("GET "+bmctest.Systems, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.RawQuery, "$expand") {
					test.answer(w, r)
					return
				}
				bmctest.JSON(w, http.StatusOK, plain)
			})
			c := bmc.NewClient(s.Endpoint(), s.Credentials(), bmc.Options{RequestTimeout: 500 * time.Millisecond})
			t.Cleanup(func() { _ = c.Close(t.Context()) })
			for n, want := range []int{1, 1 + test.again} {
				systems, err := c.Systems(t.Context())
				if err != nil || len(systems) == 0 || systems[0].SerialNumber != "SN-1" {
					t.Errorf("look %d: %+v, %v", n, systems, err)
				}
				if got := asked(s); got != want {
					t.Errorf("look %d: asked with $expand %d times, want %d", n, got, want)
				}
			}
		})
	}
}

// A BMC that fails at everything is not blamed for $expand.
func TestExpandIsNotBlamedForABMCThatIsIll(t *testing.T) {
	s := expanding(t, "Contoso")
	c := client(t, s)
	ill := func(w http.ResponseWriter, _ *http.Request) {
		bmctest.Fail(w, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable")
	}
	s.Handle("GET "+bmctest.Systems, ill)
	if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindServer {
		t.Errorf("error %v", err)
	}
	if n := asked(s); n != 1 || s.Count("GET "+bmctest.Systems) != 2 {
		t.Errorf("asked with $expand %d times, and %d times in all", n, s.Count("GET "+bmctest.Systems))
	}
	before := asked(s)
	s.Handle("GET "+bmctest.Systems, nil)
	if _, err := c.Systems(t.Context()); err != nil || asked(s) != before+1 {
		t.Errorf("well again: asked with $expand %d times, %v", asked(s)-before, err)
	}
}

// A BMC that asks for time gets it; where it does so twice in a row, the query is too much for it.
func TestExpandThatIsTooMuch(t *testing.T) {
	s := expanding(t, "Contoso")
	c := client(t, s)
	plain := bmctest.Collection(bmctest.Systems, bmctest.System)
	s.Handle("GET "+bmctest.Systems, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "$expand") {
			w.Header().Set("Retry-After", "5")
			bmctest.Fail(w, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable")
			return
		}
		bmctest.JSON(w, http.StatusOK, plain)
	})
	for n := range 2 {
		if _, err := c.Systems(t.Context()); bmc.KindOf(err) != bmc.KindServer {
			t.Errorf("%d: %v", n, err)
		}
	}
	if systems, err := c.Systems(t.Context()); err != nil || len(systems) != 1 || asked(s) != 2 {
		t.Errorf("asked %d times, %d systems, %v", asked(s), len(systems), err)
	}
}

// Pages of an expanded collection are read to the end.
func TestExpandedPages(t *testing.T) {
	s := expanding(t, "Contoso")
	second := bmctest.Systems + "/2"
	s.Set(second, bmctest.ComputerSystem(second))
	s.Handle("GET "+bmctest.Systems, func(w http.ResponseWriter, r *http.Request) {
		page := bmctest.Resource{"Members": []any{bmctest.ComputerSystem(second)}, "Members@odata.count": 2}
		if !strings.Contains(r.URL.RawQuery, "$skip") {
			page = bmctest.Resource{"Members": []any{bmctest.ComputerSystem(bmctest.System)}, "Members@odata.count": 2, "Members@odata.nextLink": bmctest.Systems + "?$expand=.&$skip=1"}
		}
		bmctest.JSON(w, http.StatusOK, page)
	})
	found, err := client(t, s).FindSystems(t.Context())
	if err != nil || len(found) != 2 || found[1].URI != second || s.Count("GET "+second) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// The inventory that follows a list needs the system no more; one that comes later reads it.
func TestInventoryDoesNotReadTheSystemAgain(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	reads := func(want int) {
		t.Helper()
		if got := s.Count("GET " + bmctest.System); got != want {
			t.Errorf("the system was read %d times, want %d", got, want)
		}
	}
	if _, err := firstLook(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	reads(1)
	if _, err := c.Inventory(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	reads(2)
	if _, err := c.FindSystems(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.System(t.Context(), bmctest.System); err != nil { // what was listed is old now
		t.Fatal(err)
	}
	reads(4)
	if _, err := c.Inventory(t.Context(), bmctest.System); err != nil {
		t.Fatal(err)
	}
	reads(5)
}
