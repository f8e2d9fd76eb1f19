package timeline

import (
	"fmt"
	"net/http"

	"github.com/farrier-dev/farrier/internal/controller/operator"
)

// names are what people call the kinds of answers (bootview.DeliveryKind).
var names = map[string]string{
	"DHCP": "DHCP", "Program": "boot program", "Chainload": "chainload script", "Script": "script", "UKI": "UKI", "Artifact": "artifact",
	"Ignition": "ignition", "Report": "probe report", "BootState": "boot state",
}

// requests tells what a machine asked for. A kind that is not known here is shown by its own name.
func (t *Timeline) requests(boots operator.Boots) {
	for _, boot := range boots.Boots {
		for _, s := range boot.Steps {
			e := Entry{
				Time: s.First, Kind: KindRequest, What: names[string(s.Kind)], Attempt: boot.Attempt, Address: s.Addr, Status: s.Status,
				Bytes: s.Bytes, Count: s.Count, Source: s.Entry, Bad: s.Status >= http.StatusBadRequest,
			}
			if s.Last.After(s.First) {
				e.Last = &s.Last
			}
			switch {
			case e.What == "":
				e.What = string(s.Kind)
			case e.What == "artifact" && s.What != "":
				e.What = artifact(s.What)
			default:
				e.Detail = s.What // the file of a boot program, or what DHCP told
			}
			if s.Kind == "Report" || s.Kind == "BootState" {
				e.Kind = KindReport
			}
			t.Entries = append(t.Entries, e)
		}
		if boot.Dropped > 0 {
			t.Missing = append(t.Missing, fmt.Sprintf("%d more answers of boot attempt %s: the record was full", boot.Dropped, short(boot.Attempt)))
		}
	}
}

// artifact is what people call it: initrd is iPXE's word for what the image calls initramfs. Of a layer that no script speaks of,
// the first digits of its digest are known.
func artifact(what string) string {
	switch what {
	case "initrd":
		return "initramfs"
	case "kernel", "squashfs", "module", "imgfetch", "initramfs":
		return what
	}
	return "layer " + what
}

// short is enough of an attempt's ID to tell it from others of one server.
func short(id string) string {
	const shown = 8
	if len(id) > shown {
		return id[:shown]
	}
	return id
}
