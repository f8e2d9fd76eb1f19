package system

import (
	"strings"
	"testing"
)

func TestWhatIsSaidOfFirmware(t *testing.T) {
	for name, tc := range map[string]struct {
		address, url string
		size         int64
		kinds        string
		refused      string // the flag that the error names
	}{
		"nothing":               {size: 1, kinds: doneByFarrier},
		"an address":            {address: ":0", size: 1, kinds: doneByFarrier},
		"with a URL":            {address: ":0", url: "https://firmware.example.org/farrier/", size: 1, kinds: doneByFarrier},
		"no address":            {address: "firmware", size: 1, kinds: doneByFarrier, refused: "--firmware-address"},
		"a URL alone":           {url: "http://192.0.2.1", size: 1, kinds: doneByFarrier, refused: "--firmware-address"},
		"another scheme":        {address: ":0", url: "tftp://192.0.2.1", size: 1, kinds: doneByFarrier, refused: "--firmware-url"},
		"a URL with a password": {address: ":0", url: "http://a:b@c", size: 1, kinds: doneByFarrier, refused: "--firmware-url"},
		"no room":               {kinds: doneByFarrier, refused: "--firmware-cache-size"},
		"another program":       {address: ":0", size: 1, kinds: doneByOthers, refused: "--firmware-address"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings{Options: Options{FirmwareAddress: tc.address, FirmwareURL: tc.url, FirmwareCacheSize: tc.size, MaintenanceKinds: tc.kinds}}
			err := s.checkFirmware()
			if (err != nil) != (tc.refused != "") || err != nil && !strings.HasPrefix(err.Error(), tc.refused+": ") {
				t.Errorf("error %v, want one about %q", err, tc.refused)
			}
			if err == nil && strings.HasSuffix(s.FirmwareURL, "/") {
				t.Errorf("URL %s", s.FirmwareURL)
			}
		})
	}
}
