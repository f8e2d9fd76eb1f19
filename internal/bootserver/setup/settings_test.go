package setup

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/signature"
)

func TestForwarderFlag(t *testing.T) {
	for _, c := range []struct {
		name         string
		given        []string
		trustPrivate bool
		prefixes     int
		err          string
	}{
		{name: "private networks by default", trustPrivate: true},
		{name: "nobody", given: []string{"none"}},
		{name: "named", given: []string{"10.0.0.1/32", "fd00::/8"}, prefixes: 2},
		{name: "no CIDR", given: []string{"10.0.0.1"}, err: "--trusted-forwarders"},
		{name: "nobody and somebody", given: []string{"none", "10.0.0.0/8"}, err: "--trusted-forwarders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Default()
			o.TrustedForwarders = c.given
			s, err := o.Check()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one about %s", err, c.err)
				}
				return
			}
			if err != nil || s.trustPrivate != c.trustPrivate || len(s.forwarders) != c.prefixes {
				t.Errorf("error %v, private %v, %v", err, s.trustPrivate, s.forwarders)
			}
		})
	}
}

func TestURLFlags(t *testing.T) {
	for _, c := range []struct{ boot, images, wantBoot, wantImages, err string }{
		{boot: "http://10.0.0.1:8082/", wantBoot: "http://10.0.0.1:8082"},
		{images: "http://10.0.0.1:8083/httpboot", wantImages: "http://10.0.0.1:8083"},
		{images: "http://10.0.0.1:8083/httpboot/", wantImages: "http://10.0.0.1:8083"},
		{images: "http://[fd00::1]:8083", wantImages: "http://[fd00::1]:8083"},
		{images: "10.0.0.1:8083", err: "--image-server-url"},
		{boot: "http://10.0.0.1/?a=b", err: "--boot-url"},
	} {
		o := Default()
		o.ImageServerURL = c.images
		if c.boot != "" {
			o.BootURLs = []string{c.boot}
		}
		s, err := o.Check()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		if err != nil || s.Sites.Of("").Object() != c.wantBoot || o.ImageServerURL != c.wantImages {
			t.Errorf("%+v: error %v, %+v %q", c, err, s.Sites, o.ImageServerURL)
		}
	}
}

// checked are the settings that these flags make.
func checked(t *testing.T, args ...string) (*Settings, error) {
	t.Helper()
	o := Default()
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.BindURLs(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.Check()
}

func TestBootURLsOfSites(t *testing.T) {
	s, err := checked(t, "--boot-url", "http://10.0.0.1:8082", "--ipxe-service-url=http://[fd00::1]:8082/", "--boot-url=a=http://boot.a.example")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(s.Sites.Of("").All(), " "), "http://10.0.0.1:8082 http://[fd00::1]:8082"; got != want {
		t.Errorf("default site %s, want %s", got, want)
	}
	if got := s.Sites.Of("a").Object(); got != "http://boot.a.example" {
		t.Errorf("site a has %s", got)
	}
	for _, c := range []struct{ args, says []string }{
		{[]string{"--boot-url=http://a", "--boot-url=http://b"}, []string{"--boot-url", `"http://b"`}},
		{[]string{"--boot-url=a=ftp://x", "--boot-url=-=http://y"}, []string{"--boot-url: \"ftp://x\"", "--boot-url: \"-=http://y\""}},
		{[]string{"--ipxe-service-url=nothing"}, []string{"--boot-url", `"nothing"`}},
		{[]string{"--image-server-url=a=http://x"}, []string{"--image-server-url", "a=http://x"}},
	} {
		_, err := checked(t, c.args...)
		for _, says := range c.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v: %v, want %s in it", c.args, err, says)
			}
		}
	}
}

// TestImagesDirIsOurs: an existing directory of layers is taken and closed to others; who made it for us is not.
func TestImagesDirIsOurs(t *testing.T) {
	s := &Settings{o: &Options{DataDir: t.TempDir()}}
	if err := s.checkDataDir(); err != nil {
		t.Errorf("there is none yet: %v", err)
	}
	dir := filepath.Join(s.o.DataDir, imagesDir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.checkDataDir(); err != nil {
		t.Errorf("our own: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it is open to others: %v, %v", info.Mode(), err)
	}
	if os.Geteuid() != 0 {
		return // only root can hand it to somebody else
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := s.checkDataDir(); err == nil || !strings.Contains(err.Error(), "--data-dir") || !strings.Contains(err.Error(), "chown") {
		t.Errorf("another user's: %v", err)
	}
}

// TestWhatCannotWork is refused by the name of its flag.
func TestWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		flag   string // empty: it is taken
	}{
		"the defaults":           {func(*Options) {}, ""},
		"no host:port":           {func(o *Options) { o.BootAddress = "8082" }, "--boot-address: "},
		"images at no host:port": {func(o *Options) { o.ImageAddress = "8083" }, "--image-address: "},
		"access to somebody":     {func(o *Options) { o.IgnitionAccess = "friends" }, "--ignition-access: "},
		"identity of somebody":   {func(o *Options) { o.BootIdentity = "face" }, "--boot-identity: "},
		"no time to boot":        {func(o *Options) { o.BootSecretsDeadline = 0 }, "--boot-secrets-deadline: "},
		"requests, negative":     {func(o *Options) { o.BootRateLimit = -1 }, "--boot-rate-limit: "},
		"handshakes, negative":   {func(o *Options) { o.BootTLSRateLimit = -1 }, "--boot-tls-rate-limit: "},
		"another status":         {func(o *Options) { o.NoAssignment = 500 }, "--no-assignment: "},
		"no pair":                {func(o *Options) { o.RegistryMirrors = []string{"ghcr.io"} }, "--registry-mirrors: "},
		"no network":             {func(o *Options) { o.AllowedRegistryNetworks = []string{"storage.lab"} }, "--allowed-registry-networks: "},
		"more than the cache":    {func(o *Options) { o.UnneededImageCacheSize = o.ImageCacheSize + 1 }, "--unneeded-image-cache-size: "},
		"connections, negative":  {func(o *Options) { o.MaxConnections = -1 }, "--max-connections: "},
		"a name with a scheme":   {func(o *Options) { o.BootTLSAddress, o.BootTLSNames = ":8443", []string{"https://boot.example"} }, "--boot-tls-names: "},
		"a name with a gap":      {func(o *Options) { o.BootTLSAddress, o.BootTLSNames = ":8443", []string{"boot..example"} }, "--boot-tls-names: "},
		"names in capitals":      {func(o *Options) { o.BootTLSAddress, o.BootTLSNames = ":8443", []string{"Boot.example", "*.example"} }, ""},
		"no layouts":             {func(o *Options) { o.ImageLayouts = "/nowhere" }, "--image-layouts: "},
		"a file of layouts":      {func(o *Options) { o.ImageLayouts = "/dev/null" }, "--image-layouts: /dev/null is not a folder"},
		"everybody's layouts":    {func(o *Options) { o.ImageLayouts = os.TempDir() }, "--image-layouts: " + os.TempDir() + ": every user"},
		"a folder of layouts":    {func(o *Options) { o.ImageLayouts = "." }, ""},
		"signatures of nobody":   {func(o *Options) { o.RequireSignedImages = true }, "--require-signed-images: "},
		"keys for nothing":       {func(o *Options) { o.ImageSignatureKeys = []string{"/nowhere"} }, "--image-signature-keys: has no effect"},
		"no file of keys":        {func(o *Options) { o.RequireSignedImages, o.ImageSignatureKeys = true, []string{"/nowhere"} }, "--image-signature-keys: "},
		"a file without keys":    {func(o *Options) { o.RequireSignedImages, o.ImageSignatureKeys = true, []string{"/dev/null"} }, "--image-signature-keys: /dev/null: "},
		"no directory":           {func(o *Options) { o.DataDir = "/dev/null" }, "--data-dir: "},
	} {
		o := Default()
		o.DataDir = filepath.Join(t.TempDir(), "data")
		c.change(&o)
		_, err := o.Check()
		if (err != nil) != (c.flag != "") || err != nil && !strings.HasPrefix(err.Error(), c.flag) {
			t.Errorf("%s: %v, want %q", name, err, c.flag)
		}
	}
}

// TestSignatureKeys: the keys of all files count.
func TestSignatureKeys(t *testing.T) {
	o := Default()
	o.DataDir, o.RequireSignedImages = filepath.Join(t.TempDir(), "data"), true
	var keys signature.Keys
	for _, name := range []string{"a", "b"} {
		signer := imagetest.NewSigner(t)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, signer.Public, 0o644); err != nil {
			t.Fatal(err)
		}
		o.ImageSignatureKeys, keys = append(o.ImageSignatureKeys, path), keys.Join(signer.Keys(t))
	}
	s, err := o.Check()
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Registries(logr.Discard()).SignatureKeys; !reflect.DeepEqual(got, keys) {
		t.Errorf("%v, want %v", got, keys)
	}
}
