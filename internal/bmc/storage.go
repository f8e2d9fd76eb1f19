package bmc

import (
	"context"
	"slices"
)

// Storage is a storage subsystem: a controller, what hangs on it, what it makes of it.
type Storage struct {
	ID      string
	Name    string
	State   string
	Drives  []Drive
	Volumes []Volume
}

// Drive is a physical disk.
type Drive struct {
	ID            string
	Name          string
	Vendor        string
	Model         string
	SerialNumber  string
	MediaType     string // HDD, SSD, SMR
	Type          string // protocol: NVMe, SATA, SAS, …
	State         string
	CapacityBytes int64
}

// Volume is a logical disk.
type Volume struct {
	ID            string
	Name          string
	RAIDType      string
	Usage         string
	State         string
	CapacityBytes int64
}

type storageBody struct {
	ID      text `json:"Id"`
	Name    text
	Status  status
	Drives  []member[driveBody]
	Volumes inlined[volumeBody]
}

type driveBody struct {
	ID            text `json:"Id"`
	Name          text
	Manufacturer  text
	Model         text
	SerialNumber  text
	MediaType     text
	Protocol      text
	Status        status
	CapacityBytes number
}

type volumeBody struct {
	ID            text `json:"Id"`
	Name          text
	RAIDType      text
	VolumeUsage   text
	Status        status
	CapacityBytes number
}

type simpleStorageBody struct {
	ID      text `json:"Id"`
	Name    text
	Status  status
	Devices []struct {
		Name          text
		Manufacturer  text
		Model         text
		Status        status
		CapacityBytes number
	}
}

// storage reads Storage, or SimpleStorage where the BMC has no Storage or an
// empty one.
func (c *Client) storage(ctx context.Context, system *systemBody, inv *Inventory) error {
	bodies, err := c.subsystems(ctx, system.Storage)
	if Unreachable(err) {
		return err
	}
	for _, b := range bodies {
		s, err := c.subsystem(ctx, b)
		if err != nil {
			return err
		}
		inv.Storage = append(inv.Storage, s)
	}
	if len(bodies) > 0 || system.SimpleStorage == "" {
		return err
	}
	return each(ctx, c, system.SimpleStorage, func(_ string, b *simpleStorageBody) {
		inv.Storage = append(inv.Storage, b.storage())
	})
}

// subsystems reads the members of Storage, with their drives and volumes where the BMC answers with those at once.
func (c *Client) subsystems(ctx context.Context, path link) (bodies []*storageBody, _ error) {
	if path == "" {
		return nil, nil
	}
	members, err := collect[storageBody](ctx, c, string(path), 2)
	if err != nil {
		return nil, err
	}
	return bodies, eachRead(members, func(_ string, b *storageBody) { bodies = append(bodies, b) }, func(uri string) (*storageBody, error) {
		return c.storageWithDrives(ctx, uri)
	})
}

// storageWithDrives reads a storage subsystem with what it leads to, or alone where the BMC does not do that.
func (c *Client) storageWithDrives(ctx context.Context, uri string) (*storageBody, error) {
	if interrupted(ctx) {
		return nil, ErrInterrupted
	}
	query, err := c.expansion(ctx, 1)
	if err != nil {
		return nil, err
	}
	if query != "" {
		b := new(storageBody)
		err := c.getExpanded(ctx, withQuery(uri, query), b)
		switch {
		case err == nil && b.ID != "":
			c.busy.Store(false)
			if unexpanded(b.Drives) {
				c.readSingly()
			}
			return b, nil
		case err != nil && !c.askSingly(ctx, err):
			return nil, err
		}
	}
	b := new(storageBody)
	if _, err = c.get(ctx, uri, b); err == nil && query != "" {
		c.readSingly()
	}
	return b, err
}

// subsystem reads drives and volumes; those that cannot be read are left out.
func (c *Client) subsystem(ctx context.Context, b *storageBody) (Storage, error) {
	s := Storage{ID: string(b.ID), Name: string(b.Name), State: string(b.Status.State)}
	drives := slices.DeleteFunc(b.Drives, func(m member[driveBody]) bool { return m.uri == "" })
	err := eachOf(ctx, c, drives[:min(len(drives), maxMembers)], func(_ string, d *driveBody) {
		if d.Status.State == "Absent" { // an empty bay
			return
		}
		s.Drives = append(s.Drives, Drive{
			ID:            string(d.ID),
			Name:          string(d.Name),
			Vendor:        string(d.Manufacturer),
			Model:         string(d.Model),
			SerialNumber:  string(d.SerialNumber),
			MediaType:     string(d.MediaType),
			Type:          string(d.Protocol),
			State:         string(d.Status.State),
			CapacityBytes: d.CapacityBytes.bytes(1),
		})
	})
	if Unreachable(err) {
		return s, err
	}
	err = b.Volumes.each(ctx, c, func(_ string, v *volumeBody) {
		s.Volumes = append(s.Volumes, Volume{
			ID:            string(v.ID),
			Name:          string(v.Name),
			RAIDType:      string(v.RAIDType),
			Usage:         string(v.VolumeUsage),
			State:         string(v.Status.State),
			CapacityBytes: v.CapacityBytes.bytes(1),
		})
	})
	return s, onlyUnreachable(err)
}

func (b *simpleStorageBody) storage() Storage {
	s := Storage{ID: string(b.ID), Name: string(b.Name), State: string(b.Status.State)}
	for _, d := range b.Devices {
		s.Drives = append(s.Drives, Drive{
			Name:          string(d.Name),
			Vendor:        string(d.Manufacturer),
			Model:         string(d.Model),
			State:         string(d.Status.State),
			CapacityBytes: d.CapacityBytes.bytes(1),
		})
	}
	return s
}
