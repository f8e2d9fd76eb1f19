package bmc

import "context"

// maxBanks bounds how many banks of a flash are looked at: there are two, in some four.
const maxBanks = 8

// Bank is one of the images of firmware that a BMC or a machine may run from (DSP0268, SoftwareImages).
type Bank struct {
	// URI is that of its SoftwareInventory.
	URI     string
	Version string
	// Active says that this one runs, or will with the next start.
	Active bool
}

// Banks are those of one piece of firmware.
type Banks struct {
	// URI is the Manager, or the Bios of a system, that says which of them is active.
	URI  string
	List []Bank

	etag string
}

// Banks reads the banks of the BIOS of a system, or with an empty URI those of the BMC itself. Firmware that has one bank has an empty List.
func (c *Client) Banks(ctx context.Context, systemURI string) (Banks, error) {
	place, err := c.place(ctx)
	uri := place.manager
	if systemURI != "" {
		uri, err = c.biosURI(ctx, systemURI)
	}
	if err != nil {
		return Banks{}, err
	}
	var body struct {
		ETag  text `json:"@odata.etag"`
		Links struct {
			Active link  `json:"ActiveSoftwareImage"`
			Images links `json:"SoftwareImages"`
		}
	}
	header, err := c.get(ctx, uri, &body)
	if err != nil {
		return Banks{}, err
	}
	b := Banks{URI: uri, etag: string(body.ETag)}
	if header != "" {
		b.etag = header
	}
	if len(body.Links.Images) < 2 {
		return b, nil
	}
	for _, image := range body.Links.Images[:min(len(body.Links.Images), maxBanks)] {
		var software struct{ Version text }
		if _, err := c.get(ctx, string(image), &software); err != nil {
			return Banks{}, err
		}
		b.List = append(b.List, Bank{URI: string(image), Version: string(software.Version), Active: image == body.Links.Active})
	}
	return b, nil
}

// UseBank has the firmware run from a bank of b from its next start on. A BMC starts when it is reset, a BIOS with its machine.
func (c *Client) UseBank(ctx context.Context, b Banks, bank Bank) error {
	return c.patch(ctx, b.URI, b.etag, map[string]any{"Links": map[string]any{"ActiveSoftwareImage": map[string]any{"@odata.id": bank.URI}}})
}
