package bmc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
	"github.com/farrier-dev/farrier/internal/sim"
)

const (
	updateService = "/redfish/v1/UpdateService"
	pushPath      = updateService + "/upload"
)

// file is an image that counts how often it is opened, and how often closed.
type file struct {
	opened, closed atomic.Int32
	read           func([]byte) (int, error)
	released       chan struct{}
}

func (f *file) Read(p []byte) (int, error) { return f.read(p) }

func (f *file) Close() error {
	if f.closed.Add(1); f.released != nil {
		close(f.released)
	}
	return nil
}

// imageOf has the content at each opening.
func imageOf(content string) (bmc.Image, *file) {
	f := &file{}
	return bmc.Image{Name: "bios-9.9.bin", Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		f.opened.Add(1)
		f.read = strings.NewReader(content).Read
		return f, nil
	}}, f
}

// zeros is an image of so many, which nobody holds in memory.
func zeros(size int64) bmc.Image {
	return bmc.Image{Name: "bios-9.9.bin", Size: size, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zero{}, size)), nil
	}}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// push sends an image where the BMC takes one.
func push(ctx context.Context, r *rack, c *bmc.Client) error {
	if _, err := system(ctx, c); err != nil {
		return err
	}
	s, err := c.UpdateService(ctx)
	if err != nil {
		return err
	}
	image, f := imageOf("firmware")
	task, err := c.PushUpdate(ctx, s, bmc.Update{ApplyTime: "Immediate"}, image)
	if !s.TakesImages() {
		if bmc.KindOf(err) != bmc.KindUnsupported || f.opened.Load() != 0 {
			return fmt.Errorf("a BMC that takes none: opened %d times: %w", f.opened.Load(), err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !task.OfUpdate() || f.opened.Load() != 1 || f.closed.Load() != 1 {
		return fmt.Errorf("task %+v, opened %d times and closed %d", task, f.opened.Load(), f.closed.Load())
	}
	return updated(ctx, r, c, task)
}

// TestWhereImagesAreTaken: at the BMC itself, or nowhere.
func TestWhereImagesAreTaken(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	for offered, want := range map[any]string{
		pushPath: pushPath, s.HTTP.URL + pushPath: pushPath, "/mfwupdate": "/mfwupdate",
		"": "", nil: "", 7: "", "http://elsewhere.example" + pushPath: "", "//elsewhere.example/x": "", "upload": "", "mailto:a": "",
	} {
		s.Set(updateService, bmctest.Resource{"@odata.id": updateService, "MultipartHttpPushUri": offered, "MaxImageSizeBytes": "100"})
		before := len(s.Requests())
		got, err := c.UpdateService(t.Context())
		if err != nil || got.PushURI != want || got.TakesImages() != (want != "") || got.MaxImageSize != 100 || got.URI != updateService {
			t.Errorf("%v: %+v, %v", offered, got, err)
		}
		if n := len(s.Requests()) - before; n != 1 && before > 0 {
			t.Errorf("%v: %d requests", offered, n)
		}
	}
}

// TestThePushedForm: it has its parts in order, a length that is known in advance, and nothing that concerns fetching.
func TestThePushedForm(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	s.Set(updateService, bmctest.Resource{"@odata.id": updateService, "MultipartHttpPushUri": pushPath})
	var got []string
	s.Handle("POST "+pushPath, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.ContentLength != int64(len(body)) || len(r.TransferEncoding) != 0 {
			t.Errorf("Content-Length %d, Transfer-Encoding %v, for %d bytes", r.ContentLength, r.TransferEncoding, len(body))
		}
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			content, _ := io.ReadAll(part)
			got = append(got, strings.Join([]string{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)}, " "))
		}
		w.Header().Set("Location", "/redfish/v1/TaskService/Tasks/7")
		w.WriteHeader(http.StatusAccepted)
	})
	service, err := c.UpdateService(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image, _ := imageOf("firm\r\nware")
	image.Name = `/srv/images/a "b" 1.0.bin`
	u := bmc.Update{
		Targets: []string{"/redfish/v1/x"}, Force: true, ApplyTime: "OnReset",
		ImageURI: "http://h/marker", Username: "marker", Password: "marker", Protocol: "HTTP",
	}
	task, err := c.PushUpdate(t.Context(), service, u, image)
	if err != nil || task.URI != "/redfish/v1/TaskService/Tasks/7" || task.State != bmc.TaskRunning {
		t.Errorf("%+v, %v", task, err)
	}
	want := []string{
		`UpdateParameters  application/json {"@Redfish.OperationApplyTime":"OnReset","ForceUpdate":true,"Targets":["/redfish/v1/x"]}`,
		"UpdateFile a__b__1.0.bin application/octet-stream firm\r\nware",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}

// TestASessionThatEndsDuringAPush: the image is opened and sent again, once.
func TestASessionThatEndsDuringAPush(t *testing.T) {
	r := newRack(t, sim.Supermicro, 1)
	c := r.client(bmc.Options{})
	service, err := c.UpdateService(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image, f := imageOf("firmware")
	open := image.Open
	image.Open = func() (io.ReadCloser, error) {
		opened, err := open()
		if f.opened.Load() == 1 {
			r.ForgetSessions(0)
		}
		return opened, err
	}
	task, err := c.PushUpdate(t.Context(), service, bmc.Update{}, image)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(0); f.opened.Load() != 2 || f.closed.Load() != 2 || s.Logins != 2 || s.Refused != 1 || s.BasicLogins != 0 {
		t.Errorf("opened %d times, closed %d; the BMC counted %+v", f.opened.Load(), f.closed.Load(), s)
	}
	if err := updated(t.Context(), r, c, task); err != nil {
		t.Error(err)
	}
}

// TestAnotherETag: as any change, a push is repeated once with the ETag that holds.
func TestAnotherETag(t *testing.T) {
	s, c, service := pushes(t, bmc.Options{})
	s.Set(updateService, bmctest.Resource{"@odata.id": updateService, "MultipartHttpPushUri": pushPath, "Name": "changed"})
	var given []string
	s.Handle("POST "+pushPath, func(w http.ResponseWriter, r *http.Request) {
		if given = append(given, r.Header.Get("If-Match")); len(given) == 1 {
			bmctest.Fail(w, http.StatusPreconditionFailed, "Base.1.8.PreconditionFailed")
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	image, f := imageOf("firmware")
	if _, err := c.PushUpdate(t.Context(), service, bmc.Update{}, image); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{`"1"`, `"2"`}, given); diff != "" || f.opened.Load() != 2 {
		t.Errorf("opened %d times, ETags (-want +got):\n%s", f.opened.Load(), diff)
	}
}

// pushes is a BMC that takes images somewhere, and a client that has read so.
func pushes(t *testing.T, o bmc.Options) (*bmctest.Server, *bmc.Client, bmc.UpdateService) {
	t.Helper()
	s := bmctest.New(t)
	s.Set(updateService, bmctest.Resource{"@odata.id": updateService, "MultipartHttpPushUri": pushPath, "MaxImageSizeBytes": 1 << 30})
	c := bmc.NewClient(s.Endpoint(), s.Credentials(), o)
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	service, err := c.UpdateService(t.Context())
	if err != nil || !service.TakesImages() {
		t.Fatalf("%+v, %v", service, err)
	}
	return s, c, service
}

// TestRefusedImages: what a BMC does not want is refused, and says nothing of the BMC.
func TestRefusedImages(t *testing.T) {
	s, c, service := pushes(t, bmc.Options{})
	for status, kind := range map[int]bmc.Kind{
		http.StatusRequestEntityTooLarge: bmc.KindRejected, http.StatusUnsupportedMediaType: bmc.KindRejected, http.StatusBadRequest: bmc.KindRejected,
		http.StatusLengthRequired: bmc.KindRejected, http.StatusServiceUnavailable: bmc.KindServer, http.StatusMethodNotAllowed: bmc.KindUnsupported,
	} {
		s.Handle("POST "+pushPath, func(w http.ResponseWriter, _ *http.Request) { bmctest.Fail(w, status, "Base.1.8.No") })
		image, _ := imageOf("firmware")
		_, err := c.PushUpdate(t.Context(), service, bmc.Update{}, image)
		if e, ok := errors.AsType[*bmc.Error](err); !ok || e.Kind != kind || e.StatusCode != status || bmc.Unreachable(err) {
			t.Errorf("%d: %v", status, err)
		}
	}
	before := len(s.Requests())
	if _, err := c.PushUpdate(t.Context(), service, bmc.Update{}, zeros(1<<30+1)); bmc.KindOf(err) != bmc.KindRejected {
		t.Errorf("an image that is too large: %v", err)
	}
	if n := len(s.Requests()) - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestImagesThatCannotBeRead: no BMC takes a part of one for the whole, and none is to blame.
func TestImagesThatCannotBeRead(t *testing.T) {
	s, c, service := pushes(t, bmc.Options{})
	var whole atomic.Int32
	s.Handle("POST "+pushPath, func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); int64(len(body)) == r.ContentLength {
			whole.Add(1)
		}
	})
	opens := func(r io.Reader) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
	}
	broken := io.MultiReader(strings.NewReader("fir"), &file{read: func([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }})
	for name, image := range map[string]bmc.Image{
		"no file":   {Size: 8, Open: func() (io.ReadCloser, error) { return nil, os.ErrNotExist }},
		"empty":     {Size: 0, Open: opens(strings.NewReader(""))},
		"too short": {Size: 9, Open: opens(strings.NewReader("firmware"))},
		"too long":  {Size: 7, Open: opens(strings.NewReader("firmware"))},
		"broken":    {Size: 8, Open: opens(broken)},
	} {
		_, err := c.PushUpdate(t.Context(), service, bmc.Update{}, image)
		if _, ok := errors.AsType[*bmc.Error](err); !ok || !errors.Is(err, bmc.ErrImage) || bmc.Unreachable(err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.System(t.Context(), bmctest.System); err != nil {
			t.Errorf("after one that is %s: %v", name, err)
		}
	}
	if n := whole.Load(); n != 0 {
		t.Errorf("%d images arrived", n)
	}
}

// TestAPushMayTakeLong: longer than any other request.
func TestAPushMayTakeLong(t *testing.T) {
	r := newRack(t, sim.Supermicro, 1)
	c := r.client(bmc.Options{})
	service, err := c.UpdateService(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.SetRequestTimeout(time.Nanosecond)
	if _, err := c.PushUpdate(t.Context(), service, bmc.Update{}, zeros(16<<20)); err != nil {
		t.Error(err)
	}
	if s := c.Symptoms(); s.Slow {
		t.Error("the BMC is slow for it")
	}
}

// TestABMCThatStopsTaking: it takes a part of an image, and no more.
func TestABMCThatStopsTaking(t *testing.T) {
	s, c, service := pushes(t, bmc.Options{UploadTimeout: time.Second})
	release := make(chan struct{})
	defer close(release)
	s.Handle("POST "+pushPath, func(http.ResponseWriter, *http.Request) { <-release })
	for what, test := range map[string]struct {
		size int64
		says string
	}{
		"bytes":     {256 << 20, "the BMC stopped taking the image"}, // far more than the kernel takes in its place
		"no answer": {8, "no answer in time"},
	} {
		_, err := c.PushUpdate(t.Context(), service, bmc.Update{}, zeros(test.size))
		if e, ok := errors.AsType[*bmc.Error](err); !ok || e.Kind != bmc.KindTimeout || e.Message != test.says {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.System(t.Context(), bmctest.System); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestAPushIsGivenUp: at once, also where the image itself hangs.
func TestAPushIsGivenUp(t *testing.T) {
	s, c, service := pushes(t, bmc.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	f := &file{released: make(chan struct{})}
	f.read = func([]byte) (int, error) {
		cancel()
		<-f.released
		return 0, os.ErrClosed
	}
	_, err := c.PushUpdate(ctx, service, bmc.Update{}, bmc.Image{Size: 8, Open: func() (io.ReadCloser, error) { return f, nil }})
	if !errors.Is(err, context.Canceled) || errors.Is(err, bmc.ErrImage) {
		t.Errorf("error %v", err)
	}
	if n := f.closed.Load(); n != 1 {
		t.Errorf("closed %d times", n)
	}
	if _, err := c.System(t.Context(), bmctest.System); err != nil || s.Sessions() != 1 {
		t.Errorf("afterwards: %d sessions, %v", s.Sessions(), err)
	}
}
