package bmc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// UpdateService is what a BMC says of how it is updated.
type UpdateService struct {
	URI string
	// PushURI is where the BMC takes images (DSP0266, "Multipart HTTP push updates"); empty: nowhere, it only fetches them (SimpleUpdate).
	PushURI string
	// MaxImageSize is how many bytes an image may have; zero: the BMC does not say.
	MaxImageSize int64

	etag string
}

// TakesImages reports whether images can be sent to the BMC.
func (s UpdateService) TakesImages() bool { return s.PushURI != "" }

// UpdateService reads how the BMC is updated.
func (c *Client) UpdateService(ctx context.Context) (UpdateService, error) {
	body, path, err := c.updateService(ctx)
	if err != nil {
		return UpdateService{}, err
	}
	s := UpdateService{URI: path, MaxImageSize: body.MaxImageSize.bytes(1), etag: string(body.ETag)}
	// An image is for this BMC, and so is the token that goes with it.
	if push, ok := resourcePath(string(body.Push)); ok && c.ours(string(body.Push)) {
		s.PushURI = push
	}
	return s, nil
}

// PushUpdate sends an image to the BMC, which installs it. s is from UpdateService, read shortly before: a session that has ended, or another
// ETag, is noticed at the end of a long request otherwise. Of u it uses Targets, ApplyTime and Force. The task tells how it goes; a BMC that
// names none has it empty.
//
// It takes minutes. RequestTimeout is no bound for it: ctx is, and Options.UploadTimeout for a BMC that takes no more bytes. Other requests of
// this client wait meanwhile. A BMC installs no part of an image; but what it does is not known after an error of the network or a timeout
// that came when all was sent.
func (c *Client) PushUpdate(ctx context.Context, s UpdateService, u Update, image Image) (Task, error) {
	r := call{method: http.MethodPost, path: s.PushURI, of: s.URI}
	switch {
	case !s.TakesImages():
		return Task{}, c.unsupported("push an image", "the BMC takes no images, it only fetches them")
	case image.Size <= 0:
		return Task{}, c.imageError(r, errors.New("it is empty"))
	case s.MaxImageSize > 0 && image.Size > s.MaxImageSize:
		return Task{}, c.tooLarge(r, image.Size, s.MaxImageSize)
	}
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return Task{}, err
	}
	if r.form, err = newForm(u.parameters(), image); err != nil {
		return Task{}, c.protocolError(r.op(), "%w", err)
	}
	if !q.updateUnconditional {
		r.ifMatch = s.etag
	}
	a, err := c.change(ctx, r)
	if err != nil {
		return Task{}, err
	}
	return taskOf(a), nil
}

// limit bounds a request by time: by RequestTimeout, or where it sends an image, by how long the BMC takes no bytes of it. taken begins that
// time anew.
func (c *Client) limit(ctx context.Context, r call) (_ context.Context, taken, cancel func()) {
	if r.form == nil {
		ctx, cancel = context.WithTimeout(ctx, c.options.RequestTimeout)
		return ctx, func() {}, cancel
	}
	ctx, end := context.WithCancelCause(ctx)
	// DeadlineExceeded is what the request ends with otherwise too.
	timer := time.AfterFunc(c.options.UploadTimeout, func() { end(context.DeadlineExceeded) })
	return ctx, func() { timer.Reset(c.options.UploadTimeout) }, func() {
		timer.Stop()
		end(nil)
	}
}

// attach gives a request its form, where it has one.
func (c *Client) attach(ctx context.Context, r call, request *http.Request, taken func()) (*formBody, error) {
	if r.form == nil {
		return nil, nil
	}
	body, err := r.form.attach(ctx, request, taken)
	if err != nil {
		return nil, c.imageError(r, err)
	}
	return body, nil
}

// notSent tells why a request has no answer: for the image that it sends, for a BMC that stopped taking it, or as e does.
func (c *Client) notSent(ctx context.Context, r call, sent *formBody, e *Error) *Error {
	failed := sent.failure()
	switch {
	case failed != nil && ctx.Err() == nil:
		return c.imageError(r, failed)
	case e.Kind == KindTimeout && !sent.whole():
		e.Message = "the BMC stopped taking the image"
	}
	return e
}

// imageError is that of an image that cannot be read.
func (c *Client) imageError(r call, err error) *Error {
	return c.protocolError(r.op(), "%w: %w", ErrImage, err)
}

// tooLarge spares the BMC an image that it would refuse.
func (c *Client) tooLarge(r call, size, most int64) *Error {
	return &Error{
		Kind: KindRejected, Endpoint: c.endpoint.Key(), Op: r.op(),
		Message: fmt.Sprintf("the image has %d bytes, and the BMC takes %d", size, most),
	}
}
