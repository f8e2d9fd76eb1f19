package bmc

import (
	"context"
	"net/http"
)

// Update is what a BMC shall fetch and install.
type Update struct {
	ImageURI string
	Protocol string // TransferProtocol, "": as the URI says
	// Targets are URIs of what is to be updated; empty: the BMC finds out.
	Targets  []string
	Username string
	Password Secret
	// ApplyTime is Immediate, OnReset, …; empty: the BMC's own.
	ApplyTime string
	// Force has the BMC pass over its own rules, such as that against an older version (DSP0268, SimpleUpdate.ForceUpdate).
	Force bool
}

// Firmware is something installed that has a version.
type Firmware struct {
	URI, ID, Name, Version string
	Updateable             bool
	// Of are the URIs of what it runs on, as far as the BMC says.
	Of []string
}

type updateServiceBody struct {
	ID        text `json:"@odata.id"`
	ETag      text `json:"@odata.etag"`
	Inventory link `json:"FirmwareInventory"`
	// Push is no link: it may name a host.
	Push         text   `json:"MultipartHttpPushUri"`
	MaxImageSize number `json:"MaxImageSizeBytes"`
	Actions      struct {
		SimpleUpdate struct {
			Target text `json:"target"`
		} `json:"#UpdateService.SimpleUpdate"`
	}
}

func (c *Client) updateService(ctx context.Context) (body updateServiceBody, path string, err error) {
	root, err := c.root(ctx)
	if err != nil {
		return body, "", err
	}
	path = root.Updates.or("/redfish/v1/UpdateService")
	header, err := c.get(ctx, path, &body)
	if header != "" {
		body.ETag = text(header)
	}
	return body, path, err
}

// SimpleUpdate has the BMC install firmware. The task tells how it goes; a BMC that names
// none has it empty.
func (c *Client) SimpleUpdate(ctx context.Context, u Update) (Task, error) {
	service, path, err := c.updateService(ctx)
	if err != nil {
		return Task{}, err
	}
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return Task{}, err
	}
	target, ok := resourcePath(string(service.Actions.SimpleUpdate.Target))
	if !ok {
		target = path + "/Actions/UpdateService.SimpleUpdate"
	}
	r := call{method: http.MethodPost, path: target, body: u.body(), of: path, hide: u.Password}
	if !q.updateUnconditional {
		r.ifMatch = string(service.ETag)
	}
	a, err := c.change(ctx, r)
	if err != nil {
		return Task{}, err
	}
	return taskOf(a), nil
}

func (u Update) body() map[string]any {
	body := u.parameters()
	body["ImageURI"] = u.ImageURI
	if u.Protocol != "" {
		body["TransferProtocol"] = u.Protocol
	}
	if u.Username != "" {
		body["Username"] = u.Username
	}
	if u.Password != "" {
		body["Password"] = u.Password.Reveal()
	}
	return body
}

// parameters are those that say nothing of where the image is.
func (u Update) parameters() map[string]any {
	body := map[string]any{}
	if len(u.Targets) > 0 {
		body["Targets"] = u.Targets
	}
	if u.Force {
		body["ForceUpdate"] = true
	}
	if u.ApplyTime != "" {
		body["@Redfish.OperationApplyTime"] = u.ApplyTime
	}
	return body
}

// taskOf finds the task in an answer: the resource in its body, or else what Location names,
// which is a monitor most of the time and ends with the task.
func taskOf(a answer) Task {
	var body taskBody
	location, _ := resourcePath(a.header.Get("Location"))
	if decode(a.body, &body) == nil && body.ID != "" && (body.State != "" || body.JobState != "") {
		said := body.State
		if said == "" {
			said = body.JobState
		}
		return body.task(location, string(said))
	}
	if location == "" {
		return Task{}
	}
	return Task{URI: location, State: TaskRunning}
}

// Firmware lists what is installed.
func (c *Client) Firmware(ctx context.Context) ([]Firmware, error) {
	service, path, err := c.updateService(ctx)
	if err != nil {
		return nil, err
	}
	type softwareBody struct {
		ID         text `json:"Id"`
		Name       text
		Version    text
		Updateable bool
		Related    links `json:"RelatedItem"`
	}
	var list []Firmware
	err = each(ctx, c, link(service.Inventory.or(path+"/FirmwareInventory")), func(uri string, b *softwareBody) {
		f := Firmware{URI: uri, ID: string(b.ID), Name: string(b.Name), Version: string(b.Version), Updateable: b.Updateable}
		for _, item := range b.Related {
			f.Of = append(f.Of, string(item))
		}
		list = append(list, f)
	})
	return list, err
}
