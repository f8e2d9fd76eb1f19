package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Images that a BMC is sent (DSP0266, "Multipart HTTP push updates").

const (
	parametersPart = "UpdateParameters"
	filePart       = "UpdateFile"
	// maxParts bounds the parts of a form: the two, and some of an OEM.
	maxParts = 8
	// maxUpload is how long sending an image may take.
	maxUpload = 4 * time.Minute
)

// pushed is a form that a BMC was sent, without the image itself: nothing in here runs it.
type pushed struct {
	parameters object
	file       string // its name
	size       int64
	err        error // why the form is no good
}

type pushedKey struct{}

// pushURIs are where personalities take images, each once.
func pushURIs() []string {
	var out []string
	for _, p := range personalities {
		if p.pushURI != "" && !slices.Contains(out, p.pushURI) {
			out = append(out, p.pushURI)
		}
	}
	return out
}

// pushResource is the URI where BMCs of some vendors take images. Others have nothing there.
type pushResource string

func (uri pushResource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	res := resource{open: true, ownRules: true, get: missing}
	if b, ok := r.Context().Value(bmcKey{}).(*bmc); ok && b.quirks.pushURI == string(uri) {
		res = resource{post: postImage, form: true}
	}
	res.ServeHTTP(w, r)
}

// receive reads the body of a request. An image is not kept: what is known of the form goes along with the request.
func (b *bmc) receive(w http.ResponseWriter, r *http.Request) (*http.Request, []byte, error) {
	if r.Method != http.MethodPost || b.quirks.pushURI == "" || r.URL.Path != b.quirks.pushURI {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		return r, body, err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxUpload))
	r.Body = http.MaxBytesReader(w, r.Body, maxFirmware+maxBody)
	p := &pushed{}
	if p.err = p.read(r); p.err != nil {
		if f := (*failure)(nil); !errors.As(p.err, &f) {
			return r, nil, p.err // there is nobody to answer, or too much was sent
		}
	}
	// Who sends more than is read sees no answer. What is far too long is not read either.
	_, _ = io.Copy(io.Discard, r.Body)
	return r.WithContext(context.WithValue(r.Context(), pushedKey{}, p)), nil, nil
}

// read reads a form: the parameters, then the image, then what an OEM may add.
func (p *pushed) read(r *http.Request) error {
	if r.ContentLength < 0 {
		return errNoLength // web servers of BMCs do not take chunks
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return errMediaType
	}
	form := multipart.NewReader(r.Body, params["boundary"])
	for i := range maxParts {
		part, err := form.NextPart()
		if err != nil {
			return p.ends(i, err)
		}
		if err := p.part(i, part); err != nil {
			return err
		}
	}
	return errPart("more than there may be")
}

// ends is why there are only so many parts.
func (p *pushed) ends(parts int, err error) error {
	missing := errPart([]string{parametersPart, filePart, "the last boundary"}[min(parts, 2)])
	switch {
	case tooLarge(err):
		return err
	case err != io.EOF, parts < 2: //nolint:errorlint // multipart.Reader returns it bare
		return missing
	}
	return nil
}

// part reads part i.
func (p *pushed) part(i int, part *multipart.Part) (err error) {
	switch i {
	case 0:
		if part.FormName() != parametersPart {
			return errPart(parametersPart)
		}
		return p.readParameters(part)
	case 1:
		if p.file = part.FileName(); part.FormName() != filePart || p.file == "" {
			return errPart(filePart)
		}
		p.size, err = io.Copy(io.Discard, part)
		switch {
		case err == nil && p.size > maxFirmware:
			return errTooLarge
		case err == nil && p.size == 0, err != nil && !tooLarge(err):
			return errPart(filePart)
		}
		return err
	}
	if !strings.HasPrefix(part.FormName(), "Oem") {
		return errPart(part.FormName())
	}
	_, err = io.Copy(io.Discard, part)
	return err
}

func (p *pushed) readParameters(part io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(part, maxBody+1))
	switch {
	case tooLarge(err):
		return err
	case err != nil:
		return errPart(parametersPart)
	case len(text) > maxBody:
		return errTooLarge
	}
	if json.Unmarshal(text, &p.parameters) != nil || p.parameters == nil {
		return errMalformedJSON
	}
	return nil
}

func tooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// postImage begins an update with the image that was sent. What it is of, and its version, are found as those of an image that is fetched.
func postImage(b *bmc, c caller, r *http.Request, _ object) (answer, error) {
	const action = "MultipartHttpPush"
	p, ok := r.Context().Value(pushedKey{}).(*pushed)
	switch {
	case !ok:
		return answer{}, errPart(parametersPart)
	case c.role != roleAdministrator:
		return answer{}, errPrivilege
	case b.quirks.updateRefusesIfMatch && r.Header.Get("If-Match") != "":
		return answer{}, errPrecondition
	case p.err != nil:
		return answer{}, p.err
	}
	target, err := b.updateTarget(action, p.parameters, p.file)
	if err != nil {
		return answer{}, err
	}
	t, begun := b.beginUpdate("Firmware update of "+target, updatePayload(b.quirks.pushURI, p.parameters))
	if !begun {
		return answer{}, errUpdating
	}
	b.rack.spawn(func() {
		b.changeTask(t.id, func(t *task) { t.state, t.percent = taskRunning, 10 })
		b.write(t.id, target, versionOf(p.file))
	})
	return t.accepted(), nil
}
