package bootserver

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// labelsOf is the query of a machine that names itself, as the bootstrap script has iPXE send it.
func labelsOf(uuid string) string {
	return "uuid=" + uuid + "&mac=52-54-00-12-34-56&ip=10.0.2.15&serial=S0123&asset=&board-serial=&manufacturer=Emulated" +
		"&product=Standard%20PC&hostname=&domain=&buildarch=i386&cpuarch=x86_64&platform=pcbios&version=1.21.1&user-class="
}

// BenchmarkNamed is what an answer to a machine that names itself costs, with the record of boots that a manager keeps, on as many processors as
// -cpu says: read is to read its labels alone.
func BenchmarkNamed(b *testing.B) {
	for _, machines := range []int{50, 50_000} {
		config, profiles := benchProfiles(b, machines)
		view := bootview.New()
		view.SetSynced(true)
		history := &bootview.History{}
		s, err := New(Config{View: view, Profiles: profiles, BootURL: bootURL, Deliver: history.Record})
		if err != nil {
			b.Fatal(err)
		}
		queries := make([]string, machines)
		for i := range queries {
			queries[i] = labelsOf(benchUUID(i))
		}
		for name, path := range map[string]string{"labels": "/ipxe", "config": "/config/" + config} {
			b.Run(fmt.Sprintf("%s/%d", name, machines), func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					r := httptest.NewRequest(http.MethodGet, path, nil)
					w := &reused{header: http.Header{}}
					random := rand.New(rand.NewPCG(1, 2))
					for pb.Next() {
						r.URL.RawQuery = queries[random.IntN(machines)]
						s.ServeHTTP(w, r)
					}
				})
			})
		}
	}
	b.Run("read", func(b *testing.B) {
		query := labelsOf(benchUUID(1))
		var subject assignment.Subject
		b.ReportAllocs()
		for b.Loop() {
			if err := subject.Read(query); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchProfiles is a view of machines that are assigned one profile by UUID each. config is the ID of its config.
func benchProfiles(b *testing.B, machines int) (config string, v *profile.View) {
	b.Helper()
	v = profile.NewView(clock.RealClock{}, nil)
	p, err := profile.Compile(profile.Source{
		Namespace: "ns", Name: "profile", UID: "uid",
		Script:  "#!ipxe\nkernel http://images.example/vmlinuz ignition.config.url={{ .ignition }} host={{ .Subject.uuid }}\nboot\n",
		Configs: map[string]profile.Content{"ignition": {Bytes: make([]byte, 4<<10)}},
	}, idKey)
	if err != nil {
		b.Fatal(err)
	}
	v.PutProfile(p)
	for i := range machines {
		v.Put(&assignment.Assignment{
			Namespace: "ns", Name: fmt.Sprintf("machine-%06d", i), Created: time.Unix(int64(i), 0), Profile: "profile",
			Selector: assignment.NewSelector(map[string]string{"uuid": benchUUID(i)}, nil),
		})
	}
	v.SetSynced(true)
	return p.IDs()["ignition"], v
}
