package scenario

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/cli/demo/show"
	"github.com/farrier-dev/farrier/internal/sim"
)

// Layers are the digests (sha256:…) of the layers of an image. Squashfs is empty for an image without one.
type Layers struct{ Kernel, Initramfs, Squashfs string }

// maxScript bounds the scripts that are read for comparison.
const maxScript = 1 << 20

// verify compares, for each claim, what its machine fetched with what there is to fetch.
func (s *Scenario) verify(ctx context.Context) error {
	layers, err := s.lab.Layers(ctx)
	if err != nil {
		return fmt.Errorf("image %s: %w", s.lab.Image, err)
	}
	var wrong []string
	for _, c := range s.claims {
		want, err := s.wanted(ctx, c, layers)
		if err != nil {
			return err
		}
		files := compare(latest(c.place.Machine.Record(), c.created), want)
		s.mu.Lock()
		c.files = files
		s.mu.Unlock()
		for _, f := range files {
			if !f.OK {
				wrong = append(wrong, fmt.Sprintf("claim %s: %s: %s", c.name, f.What, f.Why))
			}
		}
	}
	if len(wrong) > 0 {
		return errors.New(enumerate(wrong))
	}
	return nil
}

// wanted is what a machine has to fetch.
type wanted struct {
	script   []byte
	ignition []byte
	layers   Layers
}

func (s *Scenario) wanted(ctx context.Context, c *claimed, layers Layers) (wanted, error) {
	var secret corev1.Secret
	if err := s.lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.object}, &secret); err != nil {
		return wanted{}, fmt.Errorf("Secret %s: %w", c.name, err)
	}
	script, err := s.fetch(ctx, c.place, s.lab.BootURL+"/ipxe/"+c.place.UUID)
	if err != nil {
		return wanted{}, fmt.Errorf("script of Server %s: %w", c.server, err)
	}
	return wanted{script: script, ignition: secret.Data[bootv1.SecretKeyIgnition], layers: layers}, nil
}

// fetch asks as the machine of a place.
func (s *Scenario) fetch(ctx context.Context, place *Place, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	asker := *s.http
	if place.Dial != nil {
		asker.Transport = &http.Transport{DialContext: place.Dial, DisableKeepAlives: true}
	}
	resp, err := asker.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if len(body) > maxScript {
		return nil, fmt.Errorf("GET %s: more than %d bytes", url, maxScript)
	}
	return body, nil
}

// compare says of each file whether the machine got it, and got the right one.
func compare(boot *sim.BootRecord, want wanted) []show.File {
	if boot == nil {
		boot = &sim.BootRecord{}
	}
	files := []show.File{
		fileOf(boot, sim.WhatScript, digest(want.script)),
		fileOf(boot, sim.WhatKernel, want.layers.Kernel),
		fileOf(boot, sim.WhatInitramfs, want.layers.Initramfs),
	}
	if want.layers.Squashfs != "" {
		files = append(files, fileOf(boot, sim.WhatSquashfs, want.layers.Squashfs))
	}
	files = append(files, fileOf(boot, sim.WhatIgnition, digest(want.ignition)))
	if files[0].OK {
		files[0].Why = misread(want.script, files[1].URL, files[2].URL)
		files[0].OK = files[0].Why == ""
	}
	return files
}

// misread says what is wrong with a script by which a machine got to a kernel and an initramfs.
func misread(script []byte, urls ...string) string {
	if !bytes.HasPrefix(script, []byte("#!ipxe\n")) {
		return "it does not begin with #!ipxe"
	}
	for _, url := range urls {
		if !bytes.Contains(script, []byte(url)) {
			return "it does not name " + url
		}
	}
	return ""
}

func fileOf(boot *sim.BootRecord, what sim.What, expected string) show.File {
	f := show.File{What: string(what), Expected: expected}
	fetch, ok := boot.Fetched(what)
	if !ok {
		f.Why = "the machine did not fetch it"
		return f
	}
	f.URL, f.Bytes, f.Fetched = fetch.URL, fetch.Bytes, "sha256:"+fetch.SHA256
	f.Took = show.Seconds(fetch.End.Sub(fetch.Start))
	if f.OK = f.Fetched == expected; !f.OK {
		f.Why = fmt.Sprintf("the machine fetched %s, which is not %s", f.Fetched, expected)
	}
	return f
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
