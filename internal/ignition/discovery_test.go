package ignition

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_3"

	"github.com/farrier-dev/farrier/test/golden"
)

const (
	testPublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICNzv1w4xRqXw1k4q8Wm7Q3LqVtUYlN2bP8f6gqkq4aM server-1"
	testHash      = "$2a$04$C6UzMDM.H6dfI/f/IKcEeO7ZBk7q9C9p8vYV2o5J8p1u1U2N4kX2a"
)

// testCA is a certificate that nobody has the key of.
const testCA = `-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUdSmBeAsywWcQiktp2PU0KW41JKYwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjIxMTA5MjVaGA8yMTI2MTAyOTExMDky
NVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABD/4
IU9aCpn52AjXUHsigkKlQhD26N8lYYO2z1/+unnyM4AP15MhpTed+MUeswSXT1SK
nlsxMA7s4NsEI09SzgSjUzBRMB0GA1UdDgQWBBSE1sbFqosUa5cdkb+wRcSQXwHg
gTAfBgNVHSMEGDAWgBSE1sbFqosUa5cdkb+wRcSQXwHggTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIHYIwYwpj9FwezHobRO8mOrvlcmrz3KFUG4a
hHcuoEjgAiA95S0sCywIvTdP6j2/SnSSTXkfioz6eS8PvhbbBMW6LQ==
-----END CERTIFICATE-----
`

func testParams() DiscoveryParams {
	return DiscoveryParams{
		RegistryURL:   "http://10.0.0.1:8082/probe/c2VjcmV0LXRva2Vu",
		ServerUUID:    "0b6cf5e2-6a44-4f5b-a0a8-5a6b3f6d7c11",
		AuthorizedKey: testPublicKey + "\n",
		PasswordHash:  testHash,
	}
}

// existingTemplate has the variables, unquoted, as templates made for
// metal-operator have them.
const existingTemplate = `variant: fcos
version: "1.3.0"
systemd:
  units:
    - name: probe.service
      enabled: true
      contents: |-
        [Service]
        ExecStart=/usr/bin/podman run {{.Image}} {{.Flags}}
        [Install]
        WantedBy=multi-user.target
passwd:
  users:
    - name: metal
      password_hash: {{.PasswordHash}}
      ssh_authorized_keys: [ {{.SSHPublicKey}} ]
`

func TestDiscoveryGolden(t *testing.T) {
	for name, change := range map[string]func(*DiscoveryParams){
		"discovery":         func(*DiscoveryParams) {},
		"discovery-no-user": func(p *DiscoveryParams) { p.AuthorizedKey, p.PasswordHash = "", "" },
		"discovery-no-uuid": func(p *DiscoveryParams) { p.ServerUUID = ""; p.RegistryURL = "https://[fd00::1]:8443/probe/t" },
		"discovery-tls": func(p *DiscoveryParams) {
			p.RegistryURL, p.BootCA = "https://10.0.0.1:8443/probe/c2VjcmV0LXRva2Vu", []byte(testCA)
		},
		"discovery-custom": func(p *DiscoveryParams) {
			p.Template, p.ProbeImage = existingTemplate, "ghcr.io/example/probe:v1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			params := testParams()
			change(&params)
			butane, err := Discovery(params)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", name+".bu"), butane)
			payload, warnings, err := Payload("fcos", butane)
			if err != nil || len(warnings) != 0 {
				t.Fatalf("warnings %v, error %v", warnings, err)
			}
			golden.Equal(t, filepath.Join("testdata", name+".ign"), payload)
			if _, report, err := v3_3.ParseCompatibleVersion(payload); err != nil {
				t.Errorf("Ignition 3.3.0 does not parse it: %v\n%s", err, report)
			}
		})
	}
}

func TestDiscoveryRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(*DiscoveryParams)
		contains string
	}{
		"no URL":                {func(p *DiscoveryParams) { p.RegistryURL = "" }, "registry URL"},
		"newline in URL":        {func(p *DiscoveryParams) { p.RegistryURL += "\nExecStartPre=/bin/sh" }, "registry URL"},
		"space in URL":          {func(p *DiscoveryParams) { p.RegistryURL += " --evil" }, "registry URL"},
		"specifier in URL":      {func(p *DiscoveryParams) { p.RegistryURL += "%n" }, "registry URL"},
		"variable in URL":       {func(p *DiscoveryParams) { p.RegistryURL += "$HOME" }, "registry URL"},
		"quote in URL":          {func(p *DiscoveryParams) { p.RegistryURL += `"` }, "registry URL"},
		"relative URL":          {func(p *DiscoveryParams) { p.RegistryURL = "/probe/t" }, "absolute"},
		"other scheme":          {func(p *DiscoveryParams) { p.RegistryURL = "file://host/etc" }, "http"},
		"newline in UUID":       {func(p *DiscoveryParams) { p.ServerUUID += "\n" }, "UUID"},
		"not a UUID":            {func(p *DiscoveryParams) { p.ServerUUID = "server-1" }, "UUID"},
		"second key":            {func(p *DiscoveryParams) { p.AuthorizedKey += testPublicKey }, "authorized key"},
		"key with options":      {func(p *DiscoveryParams) { p.AuthorizedKey = "no-pty " + testPublicKey }, "options"},
		"no key":                {func(p *DiscoveryParams) { p.AuthorizedKey = "hello" }, "authorized key"},
		"YAML in key":           {func(p *DiscoveryParams) { p.AuthorizedKey = testPublicKey + ", x]" }, "authorized key"},
		"plain password":        {func(p *DiscoveryParams) { p.PasswordHash = "hunter2" }, "crypt(3)"},
		"no certificate":        {func(p *DiscoveryParams) { p.BootCA = []byte("x") }, "boot CA"},
		"newline in hash":       {func(p *DiscoveryParams) { p.PasswordHash += "\n" }, "crypt(3)"},
		"space in image":        {func(p *DiscoveryParams) { p.ProbeImage = "a b" }, "probe image"},
		"template syntax":       {func(p *DiscoveryParams) { p.Template = "{{.Image" }, "template"},
		"template variable":     {func(p *DiscoveryParams) { p.Template = "x: {{.Nothing}}" }, "Nothing"},
		"template not Butane":   {func(p *DiscoveryParams) { p.Template = "variant: fcos\nversion: 0.0.1" }, "0.0.1"},
		"template of no config": {func(p *DiscoveryParams) { p.Template = "{{/* nothing */}}" }, "mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			params := testParams()
			tt.change(&params)
			text, err := Discovery(params)
			if err == nil {
				t.Fatalf("accepted:\n%s", text)
			}
			if !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("error %q does not contain %q", err, tt.contains)
			}
			if strings.Contains(err.Error(), "c2VjcmV0LXRva2Vu") {
				t.Errorf("error %q carries the token", err)
			}
		})
	}
}

func FuzzDiscovery(f *testing.F) {
	p := testParams()
	f.Add(p.RegistryURL, p.ServerUUID, p.AuthorizedKey, p.PasswordHash)
	f.Fuzz(func(t *testing.T, registryURL, uuid, key, hash string) {
		text, err := Discovery(DiscoveryParams{RegistryURL: registryURL, ServerUUID: uuid, AuthorizedKey: key, PasswordHash: hash})
		if err != nil {
			return
		}
		// Whatever the values are, they add no line of their own.
		reference := testParams()
		if key == "" {
			reference.AuthorizedKey = ""
		}
		if hash == "" {
			reference.PasswordHash = ""
		}
		want, err := Discovery(reference)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(string(text), "\n"), strings.Count(string(want), "\n"); got != want {
			t.Errorf("%d lines, want %d:\n%s", got, want, text)
		}
	})
}
