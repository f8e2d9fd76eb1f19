package bootserver

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// BenchmarkServeHTTP asks for a random machine each time; the difference between the
// sizes is what memory that is not in a cache costs.
func BenchmarkServeHTTP(b *testing.B) {
	for _, machines := range []int{1_000, 100_000} {
		view := bootview.New()
		for i := range machines {
			view.Put(benchEntry(b, i))
		}
		view.SetSynced(true)
		s, err := New(Config{View: view, BootURL: bootURL, Deliver: func(Delivery) {}})
		if err != nil {
			b.Fatal(err)
		}
		for _, path := range []string{"/ipxe/", "/ignition/"} {
			b.Run(fmt.Sprintf("%s%d", path[1:], machines), func(b *testing.B) {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				w := &reused{header: http.Header{}}
				random := rand.New(rand.NewPCG(1, 2))
				b.ReportAllocs()
				for b.Loop() {
					r.URL.Path = path + benchUUID(random.IntN(machines))
					s.ServeHTTP(w, r)
				}
			})
		}
	}
}

func benchUUID(i int) string {
	const digits = "0123456789abcdef"
	uuid := []byte("4c4c4544-0043-3510-8052-000000000000")
	for at := len(uuid) - 1; i > 0; at, i = at-1, i>>4 {
		uuid[at] = digits[i&0xf]
	}
	return string(uuid)
}

func benchEntry(b *testing.B, i int) bootview.Entry {
	b.Helper()
	attempt := bootview.Attempt{ID: fmt.Sprintf("attempt-%d", i), Token: fmt.Sprintf("%043d", i), Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: bootURL, KernelURL: bootURL + "/image?k", InitrdURL: bootURL + "/image?i", Attempt: attempt,
	})
	if err != nil {
		b.Fatal(err)
	}
	return bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/default/machine-%06d", i), UUID: benchUUID(i),
		MACs: []string{fmt.Sprintf("02fa44%06x", i)}, IPs: []string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff)},
		Serial: fmt.Sprintf("SN%06d", i), Rank: bootview.Current, Script: script, Attempt: attempt, Terms: seenOn,
		Ignition: &bootview.Ignition{Payload: fmt.Appendf(nil, "payload of machine %d", i)},
	}
}
