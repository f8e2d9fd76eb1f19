package main

import (
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// machine i, as the controllers would put it: claimed, its boot ordered.
func machine(i int, url string) (bootview.Entry, error) {
	attempt := bootview.Attempt{ID: fmt.Sprintf("attempt-%d", i), Token: token(i), Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: url, KernelURL: url + "/image?layerDigest=kernel", InitrdURL: url + "/image?layerDigest=initramfs", Attempt: attempt,
	})
	if err != nil {
		return bootview.Entry{}, err
	}
	ignition := fmt.Appendf(nil, `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,machine-%06d"}}]}}`, i)
	return bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/default/machine-%06d", i), UUID: uuid(i),
		MACs: []string{fmt.Sprintf("02:fa:44:%02x:%02x:%02x", i>>16&0xff, i>>8&0xff, i&0xff)},
		Rank: bootview.Current, Script: script, Attempt: attempt, Terms: bootview.Terms{Seen: time.Now(), Repeats: true},
		Ignition: &bootview.Ignition{Payload: ignition, ContentType: "application/json"},
	}, nil
}

func uuid(i int) string  { return fmt.Sprintf("4c4c4544-0043-3510-8052-%012x", i) }
func token(i int) string { return fmt.Sprintf("%043d", i) } // as long as an HMAC-SHA256 in base64url
