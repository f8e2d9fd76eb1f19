package macprefix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `
macPrefixes:
- macPrefix: "23"
  manufacturer: Short
  defaultCredentials: [{username: a, password: b}]
- macPrefix: 23:11:8a:5
  manufacturer: Longest
- macPrefix: 23-11-8A
  manufacturer: Long
  protocol: Redfish
  protocolScheme: http
  port: 8000
  type: bmc
  defaultCredentials:
  - username: foo
    password: bar
  console: {type: SSH, port: 22}
`

func TestLongestPrefixWinsInAnySpelling(t *testing.T) {
	db, err := Parse(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	for mac, want := range map[string]string{
		"23:11:8A:33:CF:EA": "Long",
		"2311.8a33.cfea":    "Long",
		"23-11-8a-5f-00-00": "Longest",
		"23118A500000":      "Longest",
		"23-12-00-00-00-00": "Short",
	} {
		if e, ok := db.Lookup(mac); !ok || e.Manufacturer != want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", mac, e.Manufacturer, ok, want)
		}
	}
	if _, ok := db.Lookup("24:00:00:00:00:00"); ok {
		t.Error("a MAC address without a prefix was found")
	}
	e, _ := db.Lookup("23:12:00:00:00:00")
	if e.ProtocolScheme != "https" || e.Port != 443 || e.Protocol != "Redfish" {
		t.Errorf("defaults of an entry are %+v", e)
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"syntax":        {"macPrefixes:\n- macPrefix: [", "line 2"},
		"bad prefix":    {"macPrefixes:\n- macPrefix: aa\n- macPrefix: xy\n", "line 3: macPrefix \"xy\""},
		"unknown key":   {"macPrefixes:\n- macPrefix: aa\n  user: x\n", "line 3: unknown key \"user\""},
		"unknown top":   {"prefixes: []\n", "line 1"},
		"bad scheme":    {"macPrefixes:\n- macPrefix: aa\n  protocolScheme: ftp\n", "protocolScheme \"ftp\""},
		"twice":         {"macPrefixes:\n- macPrefix: aa\n- macPrefix: AA\n", "twice"},
		"no user":       {"macPrefixes:\n- macPrefix: aa\n  defaultCredentials: [{password: x}]\n", "defaultCredentials[0].username"},
		"not a mapping": {"macPrefixes:\n- aa\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "macs.yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v; want it to name %q and the file", err, tc.want)
			}
		})
	}
}

func TestWithKeepsTheFirst(t *testing.T) {
	db, err := Parse(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	db, err = db.With(Entry{Prefix: "23:11:8a", Manufacturer: "Other"}, Entry{Prefix: "02:fa:44", Manufacturer: "Simulated"})
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := db.Lookup("23:11:8a:00:00:00"); e.Manufacturer != "Long" {
		t.Errorf("the added entry replaced the one of the file: %+v", e)
	}
	if e, ok := db.Lookup("02:fa:44:00:00:01"); !ok || e.Manufacturer != "Simulated" {
		t.Errorf("the added entry is missing")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(_ *testing.T, text string) {
		if db, err := Parse(strings.NewReader(text)); err == nil {
			db.Lookup("23:11:8a:00:00:00")
		}
	})
}
