package bmc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

// A BMC without EthernetInterfaces of the system still shows its ports somewhere.
func TestInterfacesFromPorts(t *testing.T) {
	const (
		chassis  = "/redfish/v1/Chassis/1"
		adapters = chassis + "/NetworkAdapters"
		adapter  = adapters + "/nic"
		own      = bmctest.System + "/NetworkInterfaces"
	)
	port := bmctest.Resource{
		"Id": "1", "Name": "Port 1", "LinkStatus": "LinkUp", "CurrentSpeedGbps": 25, "Status": bmctest.Resource{"State": "Enabled"},
		"Ethernet": bmctest.Resource{"AssociatedMACAddresses": []any{"", "02-FA-44-00-00-07"}},
	}
	old := bmctest.Resource{
		"Id": "1", "Name": "Port 1", "LinkStatus": "Up", "CurrentLinkSpeedMbps": 25000, "Status": bmctest.Resource{"State": "Enabled"},
		"AssociatedNetworkAddresses": []any{"02:fa:44:00:00:07"},
	}
	want := []bmc.Interface{{ID: "nic-1", Name: "Port 1", MACAddress: "02:fa:44:00:00:07", LinkStatus: "LinkUp", State: "Enabled", SpeedMbps: 25000}}
	byChassis := func(r bmctest.Resource) {
		r["Links"] = bmctest.Resource{"Chassis": []any{bmctest.Ref("/redfish/v1/Chassis/none"), bmctest.Ref(chassis)}}
	}
	bySystem := func(r bmctest.Resource) { r["NetworkInterfaces"] = bmctest.Ref(own) }
	for _, test := range []struct {
		name, ports string
		port        bmctest.Resource
		link        func(bmctest.Resource)
		ethernet    string // what EthernetInterfaces is
	}{
		{"Ports by way of the chassis", "Ports", port, byChassis, "none"},
		{"NetworkPorts by way of the chassis", "NetworkPorts", old, byChassis, "missing"},
		{"Ports by way of the system", "Ports", port, bySystem, "empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bmctest.New(t)
			s.Set(chassis, bmctest.Resource{"NetworkAdapters": bmctest.Ref(adapters)})
			s.Set(adapters, bmctest.Collection(adapters, adapter, adapters+"/broken"))
			s.Set(own, bmctest.Collection(own, own+"/1"))
			s.Set(own+"/1", bmctest.Resource{"Links": bmctest.Resource{"NetworkAdapter": bmctest.Ref(adapter)}})
			s.Set(adapter, bmctest.Resource{"Id": "nic", test.ports: bmctest.Ref(adapter + "/p")})
			s.Set(adapter+"/p", bmctest.Collection(adapter+"/p", adapter+"/p/1"))
			s.Set(adapter+"/p/1", test.port)
			s.Update(bmctest.System, test.link)
			switch test.ethernet {
			case "none":
				s.Update(bmctest.System, func(r bmctest.Resource) { delete(r, "EthernetInterfaces") })
			case "missing":
				s.Delete(bmctest.System + "/EthernetInterfaces")
			case "empty":
				s.Set(bmctest.System+"/EthernetInterfaces", bmctest.Collection(""))
			}
			inv, err := client(t, s).Inventory(t.Context(), bmctest.System)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, inv.Interfaces); diff != "" {
				t.Errorf("interfaces (-want +got):\n%s", diff)
			}
		})
	}
}

// An inventory is given up between two requests, not within one.
func TestInterruptedInventory(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	asked := 0
	ctx := bmc.Interruptible(t.Context(), func() bool { asked++; return asked > 3 })
	if _, err := c.Inventory(ctx, bmctest.System); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v", err)
	}
	before := len(s.Requests())
	if _, err := c.Inventory(t.Context(), bmctest.System); err != nil || len(s.Requests())-before <= before {
		t.Errorf("%d requests, then %d: %v", before, len(s.Requests())-before, err)
	}
	if requests, connections := s.Peaks(); requests != 1 || connections != 1 {
		t.Errorf("%d requests, %d connections at a time", requests, connections)
	}
	if n := s.Count("POST /redfish/v1/SessionService/Sessions"); n != 1 {
		t.Errorf("%d logins", n)
	}
}
