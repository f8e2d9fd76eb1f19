package sealed

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	raw := pattern(200, 32)
	for name, c := range map[string]struct {
		content string
		want    string // of the error; empty: taken
	}{
		"raw":                 {content: string(raw)},
		"hexadecimal":         {content: hex.EncodeToString(raw) + "\n"},
		"base64":              {content: base64.StdEncoding.EncodeToString(raw) + "\n"},
		"base64 of URLs":      {content: base64.RawURLEncoding.EncodeToString(raw)},
		"empty":               {want: "0 bytes"},
		"short":               {content: string(raw[:31]), want: "31 bytes"},
		"short hexadecimal":   {content: hex.EncodeToString(raw[:24]), want: "24 bytes"}, // would be 36 bytes of base64
		"a pass phrase":       {content: "correct horse battery staple, correct horse battery staple", want: "neither"},
		"zeros":               {content: string(make([]byte, 64)), want: "not random"},
		"a file that is long": {content: strings.Repeat(string(raw), 200), want: "longer"},
	} {
		k, err := ParseKey([]byte(c.content))
		switch {
		case c.want == "" && (err != nil || !bytes.Equal(k.secret, raw)):
			t.Errorf("%s: %x, %v", name, k.secret, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	k, _ := ParseKey(raw)
	if text := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Count(text, "[redacted]") != 4 {
		t.Error(text)
	}
}

func TestKeyFilesAreClosedToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(pattern(1, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o604, 0o644, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), KeyFlag) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, path := range []string{filepath.Dir(path), path + "-missing"} {
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), KeyFlag) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
