package bootfile

import (
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// File is a layer of an image that firmware itself fetches from a boot server.
type File struct {
	// Name is what people call it.
	Name string
	registry.File
	// ContentType is what it is sent as, Delivered what its delivery is recorded as.
	ContentType string
	Delivered   bootview.DeliveryKind
}

// UKI is what UEFI HTTP boot fetches.
var UKI = File{Name: "unified kernel image", File: registry.UKIFile, ContentType: "application/efi", Delivered: bootview.DeliveredUKI}

// Files are those of all boot methods.
var Files = []*File{&UKI}

// TokenMark begins the element of a path that holds the token by which a BMC was given the URL of a file. No registry's name begins with it.
const TokenMark = "~"
