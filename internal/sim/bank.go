package sim

import (
	"cmp"
	"net/http"
	"strings"
)

// backup is the firmware that is kept beside the one that runs: the image before the last update, or what is in the other bank.
type backup struct {
	// version is empty before the first update.
	version string
	// next says that the next start is with it.
	next bool
}

const (
	secondBank     = "-Bank2"
	previousPrefix = "Previous-"
	previousOf     = "__"
)

// backup is what is kept beside the firmware with an ID, and next whether it runs from the next start on.
func (b *bmc) backup(id string) (version string, next bool) {
	var kept backup
	var running string
	if m := b.withFirmware(id); m != nil {
		m.mu.Lock()
		kept, running = m.biosBackup, m.biosVersionLocked()
		m.mu.Unlock()
	} else {
		b.mu.Lock()
		kept, running = b.ownBackup, b.firmwareVersionLocked()
		b.mu.Unlock()
	}
	if b.quirks.banks {
		kept.choose(kept.next, running)
	}
	return kept.version, kept.next
}

// backupIDs name what the firmware inventory has besides what runs.
func (b *bmc) backupIDs(running []string) (ids []string) {
	for _, id := range running {
		switch version, _ := b.backup(id); {
		case b.quirks.banks:
			ids = append(ids, id+secondBank)
		case b.quirks.keepsPrevious && version != "":
			ids = append(ids, previousPrefix+version+previousOf+id)
		}
	}
	return ids
}

// backupOf is the firmware that an ID of the inventory is a backup of.
func (b *bmc) backupOf(id string) (of, version string, ok bool) {
	of, banked := strings.CutSuffix(id, secondBank)
	if rest, previous := strings.CutPrefix(id, previousPrefix); previous {
		_, of, banked = strings.Cut(rest, previousOf)
	}
	if !banked || of != firmwareBMC && b.withFirmware(of) == nil {
		return "", "", false
	}
	for _, known := range b.backupIDs([]string{of}) {
		if known == id {
			version, _ = b.backup(of)
			return of, version, true
		}
	}
	return "", "", false
}

// linkBanks says which banks firmware has, and which of them is active (DSP0268, SoftwareImages).
func (b *bmc) linkBanks(links object, id string) {
	if !b.quirks.banks {
		return
	}
	first, second := link(firmwareURI+"/"+id), link(firmwareURI+"/"+id+secondBank)
	links["SoftwareImages"], links["SoftwareImages@odata.count"], links["ActiveSoftwareImage"] = []object{first, second}, 2, first
	if _, next := b.backup(id); next {
		links["ActiveSoftwareImage"] = second
	}
}

// chosenBank reads a change of the active bank of firmware; second says that it is the other one.
func (b *bmc) chosenBank(body object, id string) (second bool, err error) {
	for name, value := range body {
		links, ok := value.(object)
		switch {
		case name != "Links":
			return false, errUnknownProperty(name)
		case !ok:
			return false, errValueType(name)
		}
		for name, value := range links {
			chosen, ok := value.(object)
			uri, _ := chosen["@odata.id"].(string)
			switch {
			case name != "ActiveSoftwareImage":
				return false, errUnknownProperty("Links/" + name)
			case !ok || uri != firmwareURI+"/"+id && uri != firmwareURI+"/"+id+secondBank:
				return false, errValueType("Links/" + name)
			}
			second = uri == firmwareURI+"/"+id+secondBank
		}
	}
	return second, nil
}

// unbanked: there is nothing to change of firmware that has one bank.
func unbanked(b *bmc) []string {
	if b.quirks.banks {
		return nil
	}
	return []string{http.MethodPatch}
}

// patchManager has the BMC start from the other bank next time.
func patchManager(b *bmc, _ caller, r *http.Request, body object) error {
	if r.PathValue("manager") != b.managerID() {
		return errNotFound(r.URL.Path)
	}
	second, err := b.chosenBank(body, firmwareBMC)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ownBackup.choose(second, b.firmwareVersionLocked())
	return nil
}

// patchBios has the machine start from the other bank of its BIOS.
func patchBios(m *Machine, _ caller, _ *http.Request, body object) error {
	second, err := m.bmc.chosenBank(body, m.firmwareID())
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.biosBackup.choose(second, m.biosVersionLocked())
	return nil
}

// choose says whether the next start is with what is kept. Both banks are delivered with the version that runs.
func (k *backup) choose(next bool, running string) {
	k.version, k.next = cmp.Or(k.version, running), next
}

// swap has what is kept run, and keeps what ran, if that was chosen.
func (k *backup) swap(running string) (now string, swapped bool) {
	if !k.next {
		return running, false
	}
	now = k.version
	*k = backup{version: running}
	return now, true
}
