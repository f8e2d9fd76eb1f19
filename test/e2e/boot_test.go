package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// Each machine gets chainload, script, kernel, initramfs and ignition, and they are its own.
func TestIPXE(t *testing.T) {
	l := newLab(t)
	linux := kernelImage(t)
	for _, m := range []struct {
		name string
		how  firmware
		uuid string
	}{
		{"bios", biosIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0001"},
		{"uefi", uefiIPXE, "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0002"},
	} {
		t.Run(m.name, func(t *testing.T) {
			ignition := l.ignition(m.name)
			plan := l.push(m.name, localregistry.Image{Kernel: linux, Initramfs: initramfs(t, m.name)})
			config := l.overIPXE(m.name, m.uuid, plan)

			machine := power(t, m.how, identity{m.uuid, m.name}, l.url+"/ipxe/")
			for key, want := range map[string]string{"uuid": m.uuid, "marker": m.name, "ignition": ignition} {
				if got := machine.says(key); got != want {
					t.Errorf("%s: the machine has %q, not %q", key, got, want)
				}
			}
			machine.goesOff()
			for _, fetched := range []string{"IPXEScriptFetched", "IgnitionDataFetched"} {
				l.condition(config, func() []metav1.Condition { return config.Status.Conditions }, fetched)
			}
		})
	}
}

// A DHCP server asks /httpboot for a machine; the firmware fetches what it is told, and runs it.
func TestUEFIHTTP(t *testing.T) {
	l := newLab(t)
	const name, uuid, mac = "uki", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0003", "52:54:00:00:00:03"
	plan := l.push(name, localregistry.Image{UKI: uki(t, initramfs(t, name))})
	config := &bootv1.HTTPBootConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       bootv1.HTTPBootConfigSpec{SystemUUID: uuid, NetworkIdentifiers: []string{mac}, UKIURL: registry.UKIURL(l.url, plan)},
	}
	l.create(config)
	l.ready(config, func() []metav1.Condition { return config.Status.Conditions })

	url := l.askHTTPBoot(mac)
	if url != config.Spec.UKIURL {
		t.Fatalf("/httpboot names %q, not %q", url, config.Spec.UKIURL)
	}
	machine := power(t, uefiHTTP, identity{uuid, name}, url)
	for key, want := range map[string]string{"uuid": uuid, "marker": name} {
		if got := machine.says(key); got != want {
			t.Errorf("%s: the machine has %q, not %q", key, got, want)
		}
	}
	machine.goesOff()
}

// askHTTPBoot asks as a DHCP server does for one of its clients.
func (l *lab) askHTTPBoot(client string) string {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.local+"/httpboot", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", client)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct{ UKIURL string }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		l.t.Fatalf("%s: %v", answer.Status, err)
	}
	return body.UKIURL
}
