package main

import (
	"bytes"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/records"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const (
	// namesStart begins the UUID of a machine without boot configuration; namesRest is what else
	// the bootstrap script sends.
	namesStart = "6f0c2b1e-6d6a-4b5c-9a55-"
	namesRest  = "&mac=52-54-00-12-34-56&ip=10.0.2.15&serial=S0123&asset=&board-serial=&manufacturer=Emulated&product=Standard%20PC" +
		"&hostname=&domain=&buildarch=i386&cpuarch=x86_64&platform=pcbios&version=1.21.1&user-class="

	// profileCount is how many profiles machines share.
	profileCount = 10
	namespace    = "default"
)

var idKey = []byte("key of the benchmark")

// configIDs are known before there is a view: they are derived.
var configIDs = func() (ids [profileCount]string) {
	for i := range ids {
		ids[i] = profile.ConfigID(idKey, profileName(i), "ignition")
	}
	return ids
}()

func profileName(i int) string { return fmt.Sprintf("profile-%d", i) }

// assign makes a view in which every machine has an assignment by UUID, and all are in reach of some
// by architecture, platform and manufacturer as well. source, which may be nil, observes it.
func assign(count int, source *records.Source) (*profile.View, error) {
	v := profile.NewView(clock.RealClock{}, nil)
	if source != nil {
		source.ObserveProfiles(v)
	}
	for i := range profileCount {
		p, err := profile.Compile(profile.Source{
			Namespace: namespace, Name: profileName(i), UID: profileName(i),
			Script: "#!ipxe\nkernel http://images.example/vmlinuz initrd=initrd ignition.platform.id=metal ignition.config.url={{ .ignition }} host={{ .Subject.uuid }}\n" +
				"initrd --name initrd http://images.example/initrd\nboot\n",
			Configs: map[string]profile.Content{"ignition": {Bytes: append(append([]byte(`{"ignition":{"version":"3.4.0"},"pad":"`), bytes.Repeat([]byte("x"), 4<<10)...), `"}`...)}},
		}, idKey)
		if err != nil {
			return nil, fmt.Errorf("profile %d: %w", i, err)
		}
		v.PutProfile(p)
	}
	for i := range count {
		v.Put(&assignment.Assignment{
			Namespace: namespace, Name: fmt.Sprintf("machine-%06d", i), Created: time.Unix(int64(i), 0),
			Selector: assignment.NewSelector(map[string]string{"uuid": fmt.Sprintf("%s%012x", namesStart, i)}, nil), Profile: profileName(i % profileCount),
		})
	}
	for name, selector := range map[string]map[string]string{
		"default": {}, "x86": {"buildarch": "x86_64"}, "bios": {"platform": "pcbios", "buildarch": "i386"}, "maker": {"manufacturer": "Emulated"},
	} {
		v.Put(&assignment.Assignment{Namespace: namespace, Name: name, Selector: assignment.NewSelector(selector, nil), Profile: profileName(0)})
	}
	v.SetSynced(true)
	return v, nil
}
