package sim

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// part is one of a form.
type part struct{ name, file, content string }

// parts are those of a good form.
func parts(parameters, file string) []part {
	return []part{{parametersPart, "", parameters}, {filePart, file, "firmware"}}
}

func formOf(t *testing.T, all ...part) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range all {
		disposition := fmt.Sprintf("form-data; name=%q", p.name)
		if p.file != "" {
			disposition += fmt.Sprintf("; filename=%q", p.file)
		}
		to, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(to, p.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// push sends a form where the BMC takes images.
func (c *client) push(all ...part) reply {
	c.t.Helper()
	uri, _ := c.want(http.StatusOK, http.MethodGet, updateServiceURI, nil).body["MultipartHttpPushUri"].(string)
	body, contentType := formOf(c.t, all...)
	c.header.Set("Content-Type", contentType)
	defer c.header.Del("Content-Type")
	return c.do(http.MethodPost, uri, body)
}

// TestWhoTakesImages: most vendors do, each somewhere else, and at the others there is nothing.
func TestWhoTakesImages(t *testing.T) {
	want := map[Vendor]any{
		Standard: nil, HPE: nil, Dell: updateServiceURI + "/MultipartUpload", Lenovo: "/mfwupdate",
		Supermicro: updateServiceURI + "/upload", AMI: updateServiceURI + "/upload",
	}
	rack := startRack(t, Options{Servers: len(personalities), Vendors: Vendors()})
	for i, info := range rack.BMCs() {
		c := rack.client(t, i)
		offered := c.want(http.StatusOK, http.MethodGet, updateServiceURI, nil).body["MultipartHttpPushUri"]
		if offered != want[info.Vendor] {
			t.Errorf("%s: %v, want %v", info.Vendor, offered, want[info.Vendor])
		}
		for _, uri := range pushURIs() {
			status := http.StatusNotFound
			if uri == offered {
				status = http.StatusMethodNotAllowed
			}
			c.want(status, http.MethodGet, uri, nil)
			if r := c.do(http.MethodPost, uri, object{}); r.status == http.StatusAccepted {
				t.Errorf("%s: %s takes what is no form", info.Vendor, uri)
			}
		}
	}
}

// TestPushedUpdates: the version, and what it is of, come from the name of the file or from the parameters.
func TestPushedUpdates(t *testing.T) {
	for _, test := range []struct{ name, parameters, file, bios, bmc string }{
		{"BIOS", `{}`, "bios-2.5.0.bin", "2.5.0", bmcVersion},
		{"BMC", `{}`, "BMC_1.80.bin", biosVersion, "1.80"},
		{"target", `{"Targets":["` + firmwareURI + `/BMC"],"ForceUpdate":true,"@Redfish.OperationApplyTime":"Immediate"}`, "x-1.81.bin", biosVersion, "1.81"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, c, m := vendorRack(t, Supermicro, withMode, Options{})
			r := c.push(append(parts(test.parameters, test.file), part{"OemContoso", "", "x"})...)
			if r.status != http.StatusAccepted || r.header.Get("Location") == "" {
				t.Fatalf("HTTP %d %v", r.status, r.body)
			}
			if payload, _ := r.body["Payload"].(object); payload["TargetUri"] != m.bmc.quirks.pushURI {
				t.Errorf("payload %v", payload)
			}
			eventually(t, "both versions", func() bool { return m.biosVersion() == test.bios && m.bmc.firmwareVersion() == test.bmc })
		})
	}
}

// TestBadPushedUpdates: the faults of updates strike these too.
func TestBadPushedUpdates(t *testing.T) {
	rack, c, m := vendorRack(t, AMI, withMode, Options{})
	rack.inject(t, fault.Spec{Kind: fault.BadUpdate, Value: "fails"})
	uri, _ := c.push(parts(`{}`, "bios-2.5.0.bin")...).body["@odata.id"].(string)
	eventually(t, "the task fails", func() bool { return c.taskState(uri) == "Exception" })
	if v := m.biosVersion(); v != biosVersion {
		t.Errorf("BIOS %s", v)
	}
}

// TestBadForms: each is refused, by the name of the part that is wrong.
func TestBadForms(t *testing.T) {
	good := parts(`{}`, "bios-2.5.0.bin")
	_, c, m := vendorRack(t, Lenovo, withMode, Options{})
	for name, test := range map[string]struct {
		parts  []part
		status int
		says   string
	}{
		"no parts":                 {nil, http.StatusBadRequest, parametersPart},
		"no parameters":            {good[1:], http.StatusBadRequest, parametersPart},
		"no file":                  {good[:1], http.StatusBadRequest, filePart},
		"wrong order":              {[]part{good[1], good[0]}, http.StatusBadRequest, parametersPart},
		"a file without a name":    {parts(`{}`, ""), http.StatusBadRequest, filePart},
		"an empty file":            {[]part{good[0], {filePart, "x", ""}}, http.StatusBadRequest, filePart},
		"a part of nobody":         {append(parts(`{}`, "x"), part{"Other", "", "x"}), http.StatusBadRequest, "Other"},
		"parameters as a list":     {parts(`[]`, "x"), http.StatusBadRequest, "malformed JSON"},
		"parameters are null":      {parts(`null`, "x"), http.StatusBadRequest, "malformed JSON"},
		"parameters without end":   {parts(strings.Repeat(" ", maxBody+1), "x"), http.StatusRequestEntityTooLarge, "too large"},
		"a target that is unknown": {parts(`{"Targets":["/redfish/v1/x"]}`, "x"), http.StatusBadRequest, "Targets"},
	} {
		r := c.push(test.parts...)
		e, _ := r.body["error"].(object)
		if message, _ := e["message"].(string); r.status != test.status || !strings.Contains(message, test.says) {
			t.Errorf("%s: HTTP %d %v", name, r.status, r.body)
		}
	}
	cut, contentType := formOf(t, good...)
	c.header.Set("Content-Type", contentType)
	for name, body := range map[string]string{"in its file": cut[:strings.Index(cut, "firmware")+3], "before its end": cut[:len(cut)-4]} {
		if r := c.do(http.MethodPost, m.bmc.quirks.pushURI, body); r.status != http.StatusBadRequest {
			t.Errorf("a form cut off %s: HTTP %d", name, r.status)
		}
	}
	c.header.Del("Content-Type")
	c.wantError(http.StatusUnsupportedMediaType, "HeaderInvalid", http.MethodPost, m.bmc.quirks.pushURI, object{})
	if n := len(m.bmc.taskIDs()) + len(m.bmc.jobIDs()); n != 0 {
		t.Errorf("%d updates were begun", n)
	}
}

// TestPushNeedsALength: BMCs do not take a body in chunks.
func TestPushNeedsALength(t *testing.T) {
	_, c, m := vendorRack(t, Lenovo, withMode, Options{})
	body, contentType := formOf(t, parts(`{}`, "bios-2.5.0.bin")...)
	// A reader of an unknown type has an unknown length.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+m.bmc.quirks.pushURI, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.SetBasicAuth(c.user, c.password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusLengthRequired {
		t.Errorf("HTTP %d", resp.StatusCode)
	}
}

// TestWhoMayPush: an administrator, and at a Dell without a condition.
func TestWhoMayPush(t *testing.T) {
	_, c, m := vendorRack(t, Dell, withMode, Options{})
	good := parts(`{}`, "bios-2.5.0.bin")
	slot := accountsURI + "/3"
	c.want(http.StatusOK, http.MethodPatch, slot, object{"UserName": "new", "Password": "long enough", "RoleId": roleOperator, "Enabled": true})
	other := *c
	other.user, other.password = "new", "long enough"
	if r := other.push(good...); r.status != http.StatusForbidden {
		t.Errorf("an operator: HTTP %d", r.status)
	}
	c.header.Set("If-Match", "*")
	if r := c.push(good...); r.status != http.StatusPreconditionFailed {
		t.Errorf("with If-Match: HTTP %d", r.status)
	}
	c.header.Del("If-Match")
	if r := c.push(good...); r.status != http.StatusAccepted {
		t.Errorf("an administrator: HTTP %d %v", r.status, r.body)
	}
	if r := c.push(good...); r.status != http.StatusConflict {
		t.Errorf("a second one: HTTP %d", r.status)
	}
	stranger := *c
	stranger.user = ""
	body, contentType := formOf(t, good...)
	stranger.header = http.Header{"Content-Type": {contentType}}
	stranger.want(http.StatusUnauthorized, http.MethodPost, m.bmc.quirks.pushURI, body)
}

// FuzzForms: whatever is sent, it is a whole form or it is refused.
func FuzzForms(f *testing.F) {
	const contentType = "multipart/form-data; boundary=b"
	const good = "--b\r\nContent-Disposition: form-data; name=\"UpdateParameters\"\r\n\r\n{}\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"UpdateFile\"; filename=\"x-1.2.bin\"\r\n\r\nfirmware\r\n--b--\r\n"
	f.Add(contentType, []byte(good))
	f.Add(contentType, []byte(good[:len(good)-4]))
	f.Add(contentType, []byte(strings.Replace(good, "{}", "[", 1)))
	f.Add("multipart/form-data", []byte(good))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/mfwupdate", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		var p pushed
		if err := p.read(r); err == nil && (p.parameters == nil || p.file == "" || p.size <= 0 || p.size > int64(len(body))) {
			t.Errorf("%+v", p)
		}
	})
}
