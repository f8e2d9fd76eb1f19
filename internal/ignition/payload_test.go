package ignition

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	ignconfig "github.com/coreos/ignition/v2/config"
	"github.com/google/go-cmp/cmp"
)

func TestPayloadLeavesOtherFormatsAlone(t *testing.T) {
	data := []byte("\x00{not even JSON\r\n")
	for _, format := range []string{"", "ignition", "FCOS", "fcos2", "none"} {
		got, warnings, err := Payload(format, data)
		if err != nil || len(warnings) != 0 {
			t.Errorf("format %q: warnings %v, error %v", format, warnings, err)
		}
		if diff := cmp.Diff(data, got); diff != "" {
			t.Errorf("format %q changed the payload (-want +got):\n%s", format, diff)
		}
	}
}

func TestPayloadTranslatesButane(t *testing.T) {
	long := strings.Repeat("compressible ", 200)
	data := fmt.Sprintf(`variant: fcos
version: 1.4.0
storage:
  files:
    - path: /etc/motd
      mode: 0644
      contents:
        inline: %q
`, long)
	got, warnings, err := Payload(" fcos\n", []byte(data))
	if err != nil || len(warnings) != 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	if want := `{"ignition":{"version":"3.3.0"}`; !strings.HasPrefix(string(got), want) {
		t.Errorf("payload starts with %.60q, want %q", got, want)
	}
	if strings.Contains(string(got), "gzip") {
		t.Error("contents were compressed")
	}
	if _, report, err := ignconfig.Parse(got); err != nil {
		t.Errorf("Ignition does not parse it: %v\n%s", err, report)
	}
}

func TestPayloadWarns(t *testing.T) {
	got, warnings, err := Payload("fcos", []byte("variant: fcos\nversion: 1.4.0\nsystemdd: {}\n"))
	if err != nil || len(got) == 0 {
		t.Fatalf("payload %q, error %v", got, err)
	}
	want := []string{"warning at $.systemdd, line 3 col 1: unused key systemdd"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestPayloadErrors(t *testing.T) {
	for _, tt := range []struct {
		name, data, contains string
		is                   error
	}{
		{"empty", "", "not a YAML mapping", ErrInvalid},
		{"text", "hello", "not a YAML mapping", ErrInvalid},
		{"null", "~", "not a YAML mapping", ErrInvalid},
		{"broken YAML", "variant: fcos\n  version: [", "line 2", ErrInvalid},
		{"no variant", "version: 1.4.0", "variant", ErrInvalid},
		{"unknown variant", "variant: coreos\nversion: 1.4.0", "coreos", ErrInvalid},
		{"unknown version", "variant: fcos\nversion: 9.9.9", "9.9.9", ErrInvalid},
		{"no version", "variant: fcos", "version", ErrInvalid},
		{"relative path", "variant: fcos\nversion: 1.4.0\nstorage: {files: [{path: etc/motd}]}", "path not absolute", ErrInvalid},
		{"local file", "variant: fcos\nversion: 1.4.0\nstorage: {files: [{path: /x, contents: {local: /etc/shadow}}]}", "local", ErrInvalid},
		{"wrong type", "variant: fcos\nversion: 1.4.0\nstorage: 3", "line 3", ErrInvalid},
		{"contains itself", "variant: fcos\nversion: 1.4.0\nx: &a [*a]", `an anchor contains itself`, ErrInvalid},
		{"too large", strings.Repeat("#", MaxSize+1), "limit", ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := Payload("fcos", []byte(tt.data))
			if !errors.Is(err, tt.is) {
				t.Fatalf("error %v, want %v", err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("error %q does not contain %q", err, tt.contains)
			}
			if got != nil {
				t.Errorf("payload %q beside an error", got)
			}
		})
	}
}

// A document of half a megabyte stands for two gigabytes once its aliases are
// followed.
func TestPayloadRefusesAliasBombs(t *testing.T) {
	var wide strings.Builder
	wide.WriteString("variant: fcos\nversion: 1.4.0\nx: &a " + strings.Repeat("a", 400<<10) + "\nstorage:\n  files:\n")
	for i := range 5000 {
		fmt.Fprintf(&wide, "  - {path: /%d, contents: {inline: *a}}\n", i)
	}
	deep := "variant: fcos\nversion: 1.4.0\na0: &a0 [lol]\n"
	for i := 1; i < 60; i++ {
		deep += fmt.Sprintf("a%d: &a%d [*a%d,*a%d]\n", i, i, i-1, i-1)
	}
	for name, data := range map[string]string{"wide": wide.String(), "deep": deep} {
		if _, _, err := Payload("fcos", []byte(data)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: error %v, want %v", name, err, ErrTooLarge)
		}
	}
}

// Each value costs its translation, however short it is, and its mistakes would be repeated one by one: a third of a megabyte of them took
// half a minute and seven gigabytes.
func TestPayloadBoundsTheValuesOfADocument(t *testing.T) {
	header := "variant: fcos\nversion: 1.5.0\n"
	for name, values := range map[string]string{
		"empty files": "storage: {files: [" + strings.Repeat("{},", 2*maxNodes) + "]}",
		"users":       "passwd: {users: [" + strings.Repeat("{name: a},", maxNodes) + "]}",
	} {
		if _, warnings, err := Payload("fcos", []byte(header+values)); !errors.Is(err, ErrTooLarge) || len(warnings) > 0 {
			t.Errorf("%s: error %.200v, %d warnings, want %v", name, err, len(warnings), ErrTooLarge)
		}
	}
	if _, _, err := Payload("fcos", []byte(header+"passwd: {users: ["+strings.Repeat("{name: a},", 500)+"]}")); err == nil || len(err.Error()) > 2*maxReported {
		t.Errorf("many mistakes: an error of %d bytes", len(fmt.Sprint(err)))
	}
	var files strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&files, "  - {path: /etc/%d, mode: 0644, contents: {inline: text}}\n", i)
	}
	if _, _, err := Payload("fcos", []byte(header+"storage:\n  files:\n"+files.String())); err != nil {
		t.Errorf("a thousand files: %v", err)
	}
	if _, _, err := Payload("fcos", []byte(header+"storage: {files: [{path: /a, contents: {inline: \""+strings.Repeat("x", MaxSize-200)+"\"}}]}")); err != nil {
		t.Errorf("one long file: %v", err)
	}
}

// An alias that is used within reason is ordinary YAML.
func TestPayloadFollowsAliases(t *testing.T) {
	got, _, err := Payload("fcos", []byte(`variant: fcos
version: 1.4.0
storage:
  files:
    - path: /a
      contents: &c {inline: same}
    - path: /b
      contents: *c
`))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), `"data:,same"`); n != 2 {
		t.Errorf("contents appear %d times, want 2:\n%s", n, got)
	}
}

func FuzzPayload(f *testing.F) {
	f.Add("variant: fcos\nversion: 1.4.0\nstorage: {files: [{path: /x, contents: {inline: a}}]}")
	f.Add("variant: fcos\nversion: 1.7.0\nboot_device: {luks: {tpm2: true}, mirror: {devices: [/a, /b]}}")
	f.Add("variant: flatcar\nversion: 1.1.0\nsystemd: {units: [{name: a.service, dropins: [{name: x.conf}]}]}")
	f.Add("variant: openshift\nversion: 4.22.0\nmetadata: {name: a, labels: {machineconfiguration.openshift.io/role: w}}")
	f.Add("variant: r4e\nversion: 1.1.0\npasswd: {users: [{name: metal, ssh_authorized_keys: [a]}]}")
	f.Add("variant: fcos\nversion: 1.5.0\nx: &a {<<: *a}\n")
	f.Add("variant: fcos\nversion: 1.0.0\n? {a: b}\n: c\n? [d]\n: !!binary aGk=\n")
	f.Add("variant: fcos\nversion: 1.4.0\nstorage: {filesystems: [{device: /dev/a, format: swap, with_mount_unit: true}], trees: [{local: a}]}")
	f.Add("---\n...\n")
	f.Fuzz(func(t *testing.T, data string) {
		payload, _, err := Payload("fcos", []byte(data))
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("error of no class: %v", err)
			}
			return
		}
		if len(payload) == 0 {
			t.Error("no payload and no error")
		}
	})
}
