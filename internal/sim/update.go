package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

const (
	firmwareBIOS = "BIOS"
	firmwareBMC  = "BMC"
	// maxFirmware bounds what a BMC downloads or is sent.
	maxFirmware    = 256 << 20
	maxFirmwareURI = 2048
)

var versionIn = regexp.MustCompile(`\d+(\.\d+)+`)

// firmwareIDs name what has a version: the BMC, the BIOS of each system, and what is kept beside them.
func (b *bmc) firmwareIDs() []string {
	out := []string{firmwareBMC}
	for _, m := range b.machines {
		out = append(out, m.firmwareID())
	}
	return append(out, b.backupIDs(out)...)
}

func (m *Machine) firmwareID() string { return numbered(firmwareBIOS, m.number) }

func (m *Machine) biosVersion() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.biosVersionLocked()
}

func (m *Machine) biosVersionLocked() string {
	if m.newBIOS != "" {
		return m.newBIOS
	}
	return biosVersion
}

func (b *bmc) firmwareVersion() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.firmwareVersionLocked()
}

func (b *bmc) firmwareVersionLocked() string {
	if b.newFirmware != "" {
		return b.newFirmware
	}
	return bmcVersion
}

func getUpdateService(b *bmc, _ *http.Request) (object, error) {
	body := object{
		"@odata.id": updateServiceURI, "@odata.type": "#UpdateService.v1_14_0.UpdateService",
		"Id": "UpdateService", "Name": "Update Service", "ServiceEnabled": true, "Status": healthy(),
		"FirmwareInventory": link(firmwareURI),
		"Actions": object{"#UpdateService.SimpleUpdate": object{
			"target": simpleUpdateURI, "TransferProtocol@Redfish.AllowableValues": []string{"HTTP", "HTTPS"},
		}},
	}
	if b.quirks.pushURI != "" {
		body["MultipartHttpPushUri"], body["MaxImageSizeBytes"] = b.quirks.pushURI, maxFirmware
	}
	return body, nil
}

func getFirmware(b *bmc, r *http.Request) (object, error) {
	id := r.PathValue("id")
	running, kept, backup := b.backupOf(id)
	if !backup {
		running = id
	}
	name, version, of := "BMC Firmware", b.firmwareVersion(), b.managerURI()
	if running != firmwareBMC {
		m := b.withFirmware(running)
		if m == nil {
			return nil, errNotFound(r.URL.Path)
		}
		name, version, of = "System BIOS", m.biosVersion(), m.systemURI()
	}
	if backup {
		version = kept
	}
	return object{
		"@odata.id": firmwareURI + "/" + id, "@odata.type": "#SoftwareInventory.v1_11_0.SoftwareInventory",
		"Id": id, "Name": name, "Manufacturer": b.quirks.manufacturer, "Version": version, "Updateable": true, "Status": healthy(),
		"RelatedItem": []object{link(of)}, "RelatedItem@odata.count": 1,
	}, nil
}

func (b *bmc) withFirmware(id string) *Machine {
	for _, m := range b.machines {
		if m.firmwareID() == id {
			return m
		}
	}
	return nil
}

// postSimpleUpdate begins an update. What it is, the Targets say, or else the name of the
// file; its version is in that name too.
func postSimpleUpdate(b *bmc, c caller, r *http.Request, body object) (answer, error) {
	const action = "UpdateService.SimpleUpdate"
	if c.role != roleAdministrator {
		return answer{}, errPrivilege
	}
	if b.quirks.updateRefusesIfMatch && r.Header.Get("If-Match") != "" {
		return answer{}, errPrecondition
	}
	uri, ok := body["ImageURI"].(string)
	if !ok {
		return answer{}, errMissingParameter(action, "ImageURI")
	}
	if id, kept := strings.CutPrefix(uri, firmwareURI+"/"); kept && b.quirks.keepsPrevious {
		return b.reinstall(id, uri, body)
	}
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || len(uri) > maxFirmwareURI {
		return answer{}, errParameter(action, "ImageURI", uri)
	}
	target, err := b.updateTarget(action, body, parsed.Path)
	if err != nil {
		return answer{}, err
	}
	t, begun := b.beginUpdate("Firmware update of "+target, updatePayload(simpleUpdateURI, body))
	if !begun {
		return answer{}, errUpdating
	}
	b.rack.spawn(func() { b.update(t.id, target, uri) })
	return t.accepted(), nil
}

// reinstall begins the update to an image that the firmware inventory has under an ID.
func (b *bmc) reinstall(id, uri string, body object) (answer, error) {
	target, version, kept := b.backupOf(id)
	if !kept {
		return answer{}, errParameter("UpdateService.SimpleUpdate", "ImageURI", uri)
	}
	t, begun := b.beginUpdate("Firmware rollback of "+target, updatePayload(simpleUpdateURI, body))
	if !begun {
		return answer{}, errUpdating
	}
	b.rack.spawn(func() {
		b.changeTask(t.id, func(t *task) { t.state, t.percent = taskRunning, 10 })
		b.write(t.id, target, version)
	})
	return t.accepted(), nil
}

// updateTarget finds out what an update is of. image is the path of its image.
func (b *bmc) updateTarget(action string, body object, image string) (string, error) {
	target := b.machines[0].firmwareID()
	if strings.Contains(strings.ToLower(path.Base(image)), "bmc") {
		target = firmwareBMC
	}
	targets, _ := body["Targets"].([]any)
	for _, t := range targets {
		uri, _ := t.(string)
		id := strings.TrimPrefix(uri, firmwareURI+"/")
		if id != firmwareBMC && b.withFirmware(id) == nil {
			return "", errParameter(action, "Targets", uri)
		}
		target = id
	}
	return target, nil
}

func (b *bmc) download(ctx context.Context, uri string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	client := b.outside()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxFirmware+1))
	if err == nil && n > maxFirmware {
		err = fmt.Errorf("larger than %d bytes", maxFirmware)
	}
	return err
}

// outside is a client whose connections come from the BMC's own address.
func (b *bmc) outside() *http.Client {
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
				return dialFrom(ctx, b.at.Addr(), protocol, address)
			},
			DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
			TLSClientConfig: b.rack.trustsAnybody(),
		},
	}
}
