package registry

import (
	"errors"
	"net/url"
	"strings"
)

// ErrInvalidDigest reports a digest that is not sha256: and 64 lower-case hexadecimal digits.
var ErrInvalidDigest = errors.New("digest is not sha256: and 64 lower-case hexadecimal digits")

// BlobName names a blob of an image: by its digest, or by the media type of a layer.
type BlobName struct {
	Image  Reference
	Digest string
	Layer  string // the media type; only where digest is empty
}

// ParseURL reads the URLs that LayerURL and FileURL write. Clients that know no digest name the layer instead:
// /image?imageName=&version=&layerName=. The digest wins if both are given.
func ParseURL(u *url.URL) (BlobName, error) {
	if strings.Count(u.Path, "/") > 1 {
		ref, digest, err := parseFilePath(u.Path)
		return BlobName{Image: ref, Digest: digest}, err
	}
	query := u.Query()
	name, version := query.Get("imageName"), query.Get("version")
	digest, layer := query.Get("layerDigest"), query.Get("layerName")
	if name == "" || (digest == "" && (layer == "" || version == "")) {
		return BlobName{}, ErrNotFound
	}
	if digest != "" && !digestText.MatchString(digest) {
		return BlobName{}, ErrInvalidDigest
	}
	ref, err := versioned(name, version)
	return BlobName{Image: ref, Digest: digest, Layer: layer}, err
}

// versioned joins an image's name with a tag or a digest.
func versioned(name, version string) (Reference, error) {
	switch {
	case strings.Contains(version, ":"):
		if !digestText.MatchString(version) {
			return Reference{}, ErrInvalidDigest
		}
		name += "@" + version
	case version != "":
		name += ":" + version
	}
	return ParseReference(name)
}

// parseFilePath reads what FileURL writes, whatever the folder and the suffix: which are served is for the boot server.
func parseFilePath(path string) (Reference, string, error) {
	_, image, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	slash := strings.LastIndexByte(image, '/')
	if slash < 0 {
		return Reference{}, "", ErrNotFound
	}
	dot := strings.LastIndexByte(image, '.')
	if dot < slash {
		return Reference{}, "", ErrNotFound
	}
	digest := strings.Replace(image[slash+1:dot], "-", ":", 1)
	if !digestText.MatchString(digest) {
		return Reference{}, "", ErrInvalidDigest
	}
	ref, err := versioned(image[:slash], digest)
	return ref, digest, err
}

// LayerURL returns where a boot server serves a layer of the plan's image:
// {boot-url}/image?imageName=&layerDigest=&version=.
func LayerURL(bootURL string, p Plan, l Layer) string {
	query := url.Values{ // Encode sorts by key
		"imageName":   {p.Registry + "/" + p.Repository},
		"layerDigest": {l.Digest},
		"version":     {p.Version()},
	}
	return strings.TrimSuffix(bootURL, "/") + "/image?" + query.Encode()
}

// UKIURL returns where a boot server serves the UKI of the plan's image:
// {boot-url}/httpboot/{host}/{repository}/sha256-{hex}.efi. Firmware takes the
// file type from the name. It is empty for an image without a UKI.
func UKIURL(bootURL string, p Plan) string {
	if p.UKI == nil {
		return ""
	}
	return FileURL(bootURL, UKIFile, p, *p.UKI)
}

// File is how a layer is served that firmware fetches itself: under a path that ends like the name of a file, by which firmware tells its type.
type File struct{ Folder, Suffix string }

// UKIFile is how a UKI is served.
var UKIFile = File{Folder: "/httpboot/", Suffix: ".efi"}

// FileURL returns where a boot server serves a layer of the plan's image as a file: {boot-url}{folder}{host}/{repository}/sha256-{hex}{suffix}.
func FileURL(bootURL string, f File, p Plan, l Layer) string {
	name := strings.Replace(l.Digest, ":", "-", 1) + f.Suffix
	return strings.TrimSuffix(bootURL, "/") + f.Folder + url.PathEscape(p.Registry) + "/" + p.Repository + "/" + name
}
