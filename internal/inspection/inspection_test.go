package inspection

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

// everyField is a body that carries every field of the schema once.
const everyField = `{"systemUUID":"4C4C4544-0043-3510-8052-B7C04F4E4D32","data":{
 "timestamp":"2026-03-01T10:00:00Z","agentVersion":"v1","unknown":{"kept":true},
 "systemInfo":{"biosInformation":{"vendor":"v","version":"1","date":"d"},
  "systemInformation":{"manufacturer":"m","productName":"p","version":"2","serialNumber":"s","uuid":"u","skuNumber":"k","family":"f"},
  "boardInformation":{"manufacturer":"bm","product":"bp","version":"3","serialNumber":"bs","assetTag":"a"}},
 "cpu":[{"id":0,"totalCores":8,"totalHardwareThreads":16,"vendor":"v","model":"m","capabilities":["aes"]}],
 "networkInterfaces":[{"name":"eth0","ipAddresses":["10.0.0.1"],"macAddress":"02-FA-45-00-00-01","carrierStatus":"up"},
  {"name":"eth1","ipAddress":"10.0.0.2","macAddress":"not a mac"}],
 "lldp":[{"name":"eth0","neighbors":[{"chassisId":"c","portId":"p","portDescription":"pd","systemName":"sn","systemDescription":"sd","mgmtIp":"10.0.0.3","capabilities":["Bridge"],"vlanId":"7"}]}],
 "storage":[{"path":"/dev/sda","name":"sda","rotational":true,"removable":false,"readOnly":true,"vendor":"v","model":"m","serial":"s","wwid":"w","physicalBlockSize":4096,"logicalBlockSize":512,"hWSectorSize":512,"sizeBytes":1000,"numaNodeID":-1}],
 "memory":[{"size":1024,"deviceSet":"s","deviceLocator":"l","bankLocator":"b","memoryType":"DDR5","speed":"4800","vendor":"v","serialNumber":"s","assetTag":"a","partNumber":"p","configuredMemorySpeed":"4800","minimumVoltage":"1.1","maximumVoltage":"1.2","configuredVoltage":"1.1"}],
 "nics":[{"name":"eth0","mac":"02:FA:45:00:00:01","pciAddress":"0000:01:00.0","speed":"25G","linkModes":["a"],"supportedPorts":["FIBRE"],"firmwareVersion":"1"}],
 "pciDevices":[{"address":"0000:01:00.0","vendor":"v","vendorID":"8086","product":"p","productID":"1","numaNodeID":1}],
 "tpm":{"version":"2","endorsementKey":"k","pcrs":[{"algorithm":"sha256","values":["00"]}],"eventLog":"bG9n"},
 "cleanup":[{"path":"/dev/sda","serial":"s","wwid":"w","method":"discard","seconds":1.5,"result":"ok","error":""}]}}`

func wantEveryField() Report {
	return Report{
		Timestamp: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), AgentVersion: "v1",
		SystemInfo: SystemInfo{
			BIOS:   BIOSInformation{Vendor: "v", Version: "1", Date: "d"},
			System: SystemInformation{Manufacturer: "m", ProductName: "p", Version: "2", SerialNumber: "s", UUID: "u", SKUNumber: "k", Family: "f"},
			Board:  BoardInformation{Manufacturer: "bm", Product: "bp", Version: "3", SerialNumber: "bs", AssetTag: "a"},
		},
		CPU: []CPU{{TotalCores: 8, TotalHardwareThreads: 16, Vendor: "v", Model: "m", Capabilities: []string{"aes"}}},
		NetworkInterfaces: []NetworkInterface{
			{Name: "eth0", IPAddresses: []string{"10.0.0.1"}, MACAddress: "02:fa:45:00:00:01", CarrierStatus: CarrierUp},
			{Name: "eth1", IPAddresses: []string{"10.0.0.2"}, MACAddress: "not a mac"},
		},
		LLDP: LLDP{{Name: "eth0", Neighbors: []Neighbor{{
			ChassisID: "c", PortID: "p", PortDescription: "pd", SystemName: "sn", SystemDescription: "sd",
			ManagementIP: "10.0.0.3", Capabilities: []string{"Bridge"}, VLANID: "7",
		}}}},
		Storage: []BlockDevice{{
			Path: "/dev/sda", Name: "sda", Rotational: true, ReadOnly: true, Vendor: "v", Model: "m", Serial: "s", WWID: "w",
			PhysicalBlockSize: 4096, LogicalBlockSize: 512, HWSectorSize: 512, SizeBytes: 1000, NUMANodeID: -1,
		}},
		Memory: []MemoryDevice{{
			SizeBytes: 1024, DeviceSet: "s", DeviceLocator: "l", BankLocator: "b", MemoryType: "DDR5", Speed: "4800", Vendor: "v",
			SerialNumber: "s", AssetTag: "a", PartNumber: "p", ConfiguredMemorySpeed: "4800", MinimumVoltage: "1.1",
			MaximumVoltage: "1.2", ConfiguredVoltage: "1.1",
		}},
		NICs: []NIC{{
			Name: "eth0", MAC: "02:fa:45:00:00:01", PCIAddress: "0000:01:00.0", Speed: "25G", LinkModes: []string{"a"},
			SupportedPorts: []string{"FIBRE"}, FirmwareVersion: "1",
		}},
		PCIDevices: []PCIDevice{{Address: "0000:01:00.0", Vendor: "v", VendorID: "8086", Product: "p", ProductID: "1", NUMANodeID: 1}},
		TPM:        &TPM{Version: "2", EndorsementKey: "k", PCRs: []PCRBank{{Algorithm: "sha256", Values: []string{"00"}}}, EventLog: []byte("log")},
		Cleanup:    []DiskCleanup{{Path: "/dev/sda", Serial: "s", WWID: "w", Method: "discard", Seconds: 1.5, Result: "ok"}},
	}
}

func TestDecodeKeepsEveryField(t *testing.T) {
	reg, err := Decode(strings.NewReader(everyField), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if reg.SystemUUID != testUUID {
		t.Errorf("system UUID %q is not canonical", reg.SystemUUID)
	}
	if diff := cmp.Diff(wantEveryField(), reg.Data); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if !bytes.Contains(reg.Raw, []byte(`"unknown":{"kept":true}`)) {
		t.Errorf("a field the schema does not know is lost: %s", reg.Raw)
	}
}

func TestDecodeLLDPAsObject(t *testing.T) {
	body := `{"systemUUID":"` + testUUID + `","data":{"lldp":{"interfaces":[{"name":"eth0","neighbors":[{"chassisId":"c"}]}]}}}`
	reg, err := Decode(strings.NewReader(body), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := LLDP{{Name: "eth0", Neighbors: []Neighbor{{ChassisID: "c"}}}}
	if diff := cmp.Diff(want, reg.Data.LLDP); diff != "" {
		t.Errorf("LLDP (-want +got):\n%s", diff)
	}
}

func TestDecodeNamesTheField(t *testing.T) {
	for name, tc := range map[string]struct{ body, field string }{
		"empty":           {``, "body"},
		"no JSON":         {`systemUUID=x`, "body"},
		"truncated":       {everyField[:200], "body"},
		"trailing":        {everyField + `{}`, "body"},
		"null":            {`null`, "systemUUID"},
		"no UUID":         {`{"data":{}}`, "systemUUID"},
		"bad UUID":        {`{"systemUUID":"x","data":{}}`, "systemUUID"},
		"UUID no string":  {`{"systemUUID":7,"data":{}}`, "systemUUID"},
		"no data":         {`{"systemUUID":"` + testUUID + `"}`, "data"},
		"data no object":  {`{"systemUUID":"` + testUUID + `","data":[]}`, "data"},
		"negative cores":  {`{"systemUUID":"` + testUUID + `","data":{"cpu":[{"totalCores":-1}]}}`, "data.cpu.totalCores"},
		"text for a size": {`{"systemUUID":"` + testUUID + `","data":{"storage":[{"sizeBytes":"1"}]}}`, "data.storage.sizeBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tc.body), 1<<20)
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v, want ErrMalformed", err)
			}
			if want := ErrMalformed.Error() + ": " + tc.field + ": "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %q does not begin with %q", err, want)
			}
		})
	}
}

func TestDecodeLimit(t *testing.T) {
	if _, err := Decode(strings.NewReader(everyField), int64(len(everyField))); err != nil {
		t.Errorf("a body of exactly the limit: %v", err)
	}
	if _, err := Decode(strings.NewReader(everyField), int64(len(everyField)-1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestDecodeTakesNoAttemptFromTheBody(t *testing.T) {
	reg, err := Decode(strings.NewReader(`{"systemUUID":"`+testUUID+`","attempt":"forged","data":{}}`), 1<<10)
	if err != nil || reg.Attempt != "" {
		t.Errorf("attempt %q, %v; want none", reg.Attempt, err)
	}
}

func TestEncodeDecode(t *testing.T) {
	body, err := Encode(testUUID, wantEveryField())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := Decode(bytes.NewReader(body), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantEveryField(), reg.Data); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestBootState(t *testing.T) {
	body, err := EncodeBootState(testUUID, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeBootState(bytes.NewReader(body), 1<<10)
	if want := (BootState{SystemUUID: testUUID, Booted: true}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := DecodeBootState(strings.NewReader(`{"systemUUID":"`+testUUID+`","booted":"yes"}`), 1<<10); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "booted") {
		t.Errorf("error %v, want ErrMalformed naming booted", err)
	}
	if _, err := DecodeBootState(bytes.NewReader(body), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestPackUnpack(t *testing.T) {
	reg, err := Decode(strings.NewReader(everyField), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	reg.Attempt = "attempt-1"
	packed, err := Pack(reg)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Pack(reg)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packing twice gives different bytes (%v)", err)
	}
	got, err := Unpack(packed, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got.Attempt != reg.Attempt || got.SystemUUID != reg.SystemUUID {
		t.Errorf("unpacked %q %q", got.SystemUUID, got.Attempt)
	}
	if diff := cmp.Diff(reg.Data, got.Data); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, reg.Raw); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(compact.String(), string(got.Raw)); diff != "" {
		t.Errorf("raw report (-want +got):\n%s", diff)
	}
}

func TestUnpackIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 1 << 10 {
		if _, err := w.Write(make([]byte, 1<<12)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(bomb.Bytes(), 1<<16); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if _, err := Unpack([]byte("not gzip"), 1<<16); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v, want ErrMalformed", err)
	}
	if _, err := Unpack(bomb.Bytes()[:bomb.Len()-4], 1<<30); !errors.Is(err, ErrMalformed) {
		t.Errorf("truncated: error %v, want ErrMalformed", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(everyField))
	f.Add([]byte(`{"systemUUID":"` + testUUID + `","data":{"lldp":{}}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reg, err := Decode(bytes.NewReader(body), 1<<16)
		if err != nil {
			return
		}
		packed, err := Pack(reg)
		if err != nil {
			t.Fatalf("a decoded registration cannot be packed: %v", err)
		}
		again, err := Unpack(packed, 1<<20)
		if err != nil {
			t.Fatalf("a packed registration cannot be unpacked: %v", err)
		}
		if diff := cmp.Diff(reg.Data, again.Data); diff != "" {
			t.Errorf("record differs (-decoded +unpacked):\n%s", diff)
		}
	})
}

func FuzzDecodeBootState(f *testing.F) {
	f.Add([]byte(`{"systemUUID":"` + testUUID + `","booted":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := DecodeBootState(bytes.NewReader(body), 1<<10); err == nil && len(got.SystemUUID) != 36 {
			t.Errorf("accepted UUID %q", got.SystemUUID)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	packed, err := Pack(Registration{SystemUUID: testUUID, Attempt: "a", Data: wantEveryField()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = Unpack(b, 1<<16)
	})
}
