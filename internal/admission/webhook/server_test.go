package webhook_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/admission/webhook"
)

func TestOptions(t *testing.T) {
	_, cert, key, _ := servingPair(t)
	content, err := os.ReadFile(key)
	open := filepath.Join(filepath.Dir(key), "open.key")
	if err := errors.Join(err, os.WriteFile(open, content, 0o600), os.Chmod(open, 0o604)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options webhook.Options
		served  bool
		want    string
	}{
		"none":                       {},
		"a certificate for nothing":  {options: webhook.Options{CertFile: cert, KeyFile: key}, want: "--webhook-address"},
		"no port":                    {options: webhook.Options{Address: "127.0.0.1", CertFile: cert, KeyFile: key}, want: "--webhook-address"},
		"any port":                   {options: webhook.Options{Address: "127.0.0.1:0", CertFile: cert, KeyFile: key}, want: `port "0"`},
		"a certificate of its own":   {options: webhook.Options{Address: ":9443"}, served: true},
		"a key for nothing":          {options: webhook.Options{Address: ":9443", KeyFile: key}, want: "--webhook-cert-file"},
		"a certificate that is none": {options: webhook.Options{Address: ":9443", CertFile: key, KeyFile: cert}, want: "--webhook-cert-file"},
		"files of two directories":   {options: webhook.Options{Address: ":9443", CertFile: cert, KeyFile: "/elsewhere/tls.key"}, want: "same directory"},
		"a key for everybody":        {options: webhook.Options{Address: ":9443", CertFile: cert, KeyFile: open}, want: "chmod 600"},
		"a server":                   {options: webhook.Options{Address: ":9443", CertFile: cert, KeyFile: key}, served: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := c.options.Server()
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if (server != nil) != c.served {
				t.Errorf("server %v", server)
			}
		})
	}
}
