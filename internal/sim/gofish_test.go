package sim

import (
	"testing"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"
)

// TestGofish reads everything with a Redfish client that is not ours, over a
// session and over Basic authentication.
func TestGofish(t *testing.T) {
	rack := startRack(t, Options{Servers: 6, Seed: 2})
	for i := range 6 {
		c, err := gofish.ConnectContext(t.Context(), gofish.ClientConfig{
			Endpoint: rack.baseURL(i), Username: DefaultUsername, Password: DefaultPassword, BasicAuth: i%2 == 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		m := rack.Machine(i)
		readServices(t, c)
		system := readSystem(t, c, m)
		readParts(t, system, m)
		readManager(t, c, m)
		c.Logout()
	}
	if n := len(rack.bmcs[0].sessionIDs()); n != 0 {
		t.Errorf("%d sessions left after logout", n)
	}
}

// must ends a test at the first thing that cannot be read.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func readServices(t *testing.T, c *gofish.APIClient) {
	t.Helper()
	accounts := must[*schemas.AccountService](t)(c.Service.AccountService())
	if list := must[[]*schemas.ManagerAccount](t)(accounts.Accounts()); len(list) != 1 || list[0].UserName != DefaultUsername {
		t.Errorf("accounts %+v", list)
	}
	if list := must[[]*schemas.Role](t)(accounts.Roles()); len(list) != len(roles) {
		t.Errorf("%d roles", len(list))
	}
	sessions := must[*schemas.SessionService](t)(c.Service.SessionService())
	must[[]*schemas.Session](t)(sessions.Sessions())
	update := must[*schemas.UpdateService](t)(c.Service.UpdateService())
	if list := must[[]*schemas.SoftwareInventory](t)(update.FirmwareInventory()); len(list) != 4 { // two banks of each
		t.Errorf("%d firmware versions", len(list))
	}
	events := must[*schemas.EventService](t)(c.Service.EventService())
	must[[]*schemas.EventDestination](t)(events.Subscriptions())
	for _, chassis := range must[[]*schemas.Chassis](t)(c.Service.Chassis()) {
		must[[]*schemas.ComputerSystem](t)(chassis.ComputerSystems())
		must[[]*schemas.Manager](t)(chassis.ManagedBy())
		must[[]*schemas.Storage](t)(chassis.Storage())
		if drives := must[[]*schemas.Drive](t)(chassis.Drives()); len(drives) == 0 {
			t.Error("chassis without drives")
		}
	}
}

func readSystem(t *testing.T, c *gofish.APIClient, m *Machine) *schemas.ComputerSystem {
	t.Helper()
	systems := must[[]*schemas.ComputerSystem](t)(c.Service.Systems())
	if len(systems) != 1 {
		t.Fatalf("%d systems", len(systems))
	}
	s := systems[0]
	if s.UUID != m.UUID() || s.SerialNumber != m.Serial() || s.PowerState != schemas.OffPowerState || s.BiosVersion != biosVersion {
		t.Errorf("system %+v", s)
	}
	if s.Boot.BootSourceOverrideEnabled != schemas.DisabledBootSourceOverrideEnabled || len(s.Boot.BootOrder) != m.ports+1 {
		t.Errorf("boot %+v", s.Boot)
	}
	if types := must[[]schemas.ResetType](t)(s.GetSupportedResetTypes()); len(types) != len(resetTypes) {
		t.Errorf("reset types %v", types)
	}
	boot := schemas.Boot{BootSourceOverrideTarget: schemas.PxeBootSource, BootSourceOverrideEnabled: schemas.OnceBootSourceOverrideEnabled, BootSourceOverrideMode: schemas.UEFIBootSourceOverrideMode}
	if err := s.SetBoot(&boot); err != nil {
		t.Fatal(err)
	}
	if o := m.BootOverride(); o.Target != BootPXE || o.Enabled != overrideOnce {
		t.Errorf("override %+v", o)
	}
	if _, err := s.Reset(schemas.ForceOffResetType); err != nil {
		t.Fatal(err)
	}
	return s
}

func readParts(t *testing.T, s *schemas.ComputerSystem, m *Machine) {
	t.Helper()
	must[*schemas.Bios](t)(s.Bios())
	if options := must[[]*schemas.BootOption](t)(s.BootOptions()); len(options) != m.ports+1 {
		t.Errorf("%d boot options", len(options))
	}
	if list := must[[]*schemas.Processor](t)(s.Processors()); len(list) != m.sockets || list[0].Model != m.processor.name {
		t.Errorf("processors %+v", list)
	}
	if list := must[[]*schemas.Memory](t)(s.Memory()); len(list) != m.dimms || *list[0].CapacityMiB != m.dimmMiB {
		t.Errorf("%d modules", len(list))
	}
	nics := must[[]*schemas.EthernetInterface](t)(s.EthernetInterfaces())
	if len(nics) != m.ports {
		t.Errorf("%d ports", len(nics))
	}
	if nics[0].MACAddress != m.MAC() && nics[len(nics)-1].MACAddress != m.MAC() {
		t.Errorf("port addresses %s, %s", nics[0].MACAddress, nics[len(nics)-1].MACAddress)
	}
	drives := 0
	for _, storage := range must[[]*schemas.Storage](t)(s.Storage()) {
		drives += len(must[[]*schemas.Drive](t)(storage.Drives()))
		for _, volume := range must[[]*schemas.Volume](t)(storage.Volumes()) {
			if list := must[[]*schemas.Drive](t)(volume.Drives()); len(list) != 2 {
				t.Errorf("volume of %d drives", len(list))
			}
		}
	}
	if drives != len(m.diskList()) {
		t.Errorf("%d drives, want %d", drives, len(m.diskList()))
	}
	must[[]*schemas.Chassis](t)(s.Chassis())
	must[[]*schemas.Manager](t)(s.ManagedBy())
}

func readManager(t *testing.T, c *gofish.APIClient, m *Machine) {
	t.Helper()
	managers := must[[]*schemas.Manager](t)(c.Service.Managers())
	if len(managers) != 1 || managers[0].FirmwareVersion != bmcVersion || managers[0].UUID == m.UUID() {
		t.Fatalf("managers %+v", managers)
	}
	manager := managers[0]
	if nics := must[[]*schemas.EthernetInterface](t)(manager.EthernetInterfaces()); len(nics) != 1 || nics[0].MACAddress != m.mac {
		t.Errorf("manager interfaces %+v", nics)
	}
	must[*schemas.ManagerNetworkProtocol](t)(manager.NetworkProtocol())
	must[[]*schemas.ComputerSystem](t)(manager.ManagerForServers())
	must[[]*schemas.Chassis](t)(manager.ManagerForChassis())
	must[*schemas.Manager](t)(c.Service.ManagerProvidingService())
	if types := must[[]schemas.ResetType](t)(manager.GetSupportedResetTypes()); len(types) != len(managerResetTypes) {
		t.Errorf("reset types %v", types)
	}
}
