package bmc

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// EventFormat is what a subscription delivers.
type EventFormat string

const (
	FormatEvent        EventFormat = "Event"
	FormatMetricReport EventFormat = "MetricReport"
)

// Subscription is an EventDestination.
type Subscription struct {
	URI string
	// Destination is a secret in its path: who knows it may send events.
	Destination Secret
	Context     string
	Format      EventFormat
	State       string // Status.State: Enabled, Disabled, …
}

type subscriptionBody struct {
	Destination text
	Context     text
	Format      text `json:"EventFormatType"`
	Status      status
}

type eventServiceBody struct {
	Subscriptions link
	Enabled       *bool `json:"ServiceEnabled"`
	Formats       texts `json:"EventFormatTypes"`
}

// retryForever keeps a subscription that a receiver's absence would end otherwise.
const retryForever = "RetryForever"

func (c *Client) eventService(ctx context.Context) (eventServiceBody, error) {
	var body eventServiceBody
	root, err := c.root(ctx)
	if err != nil {
		return body, err
	}
	path := root.Events.or("/redfish/v1/EventService")
	if _, err := c.get(ctx, path, &body); err != nil {
		return body, err
	}
	if body.Enabled != nil && !*body.Enabled {
		return body, c.unsupported("GET "+path, "the event service is switched off")
	}
	if body.Subscriptions == "" {
		body.Subscriptions = link(path + "/Subscriptions")
	}
	return body, nil
}

// Subscriptions lists those whose destination is one of ours; all where mine is nil.
func (c *Client) Subscriptions(ctx context.Context, mine func(destination string) bool) ([]Subscription, error) {
	service, err := c.eventService(ctx)
	if err != nil {
		return nil, err
	}
	return c.subscriptions(ctx, service, mine)
}

func (c *Client) subscriptions(ctx context.Context, service eventServiceBody, mine func(string) bool) ([]Subscription, error) {
	var list []Subscription
	err := each(ctx, c, service.Subscriptions, func(uri string, b *subscriptionBody) {
		if mine != nil && !mine(string(b.Destination)) {
			return
		}
		s := Subscription{URI: uri, Destination: Secret(b.Destination), Context: string(b.Context), Format: EventFormat(b.Format), State: string(b.Status.State)}
		if s.Format == "" {
			s.Format = FormatEvent // the schema's default
		}
		list = append(list, s)
	})
	return list, err
}

// Subscribe makes a subscription, or finds the one that there is for the same destination and
// format.
func (c *Client) Subscribe(ctx context.Context, s Subscription) (Subscription, error) {
	const op = "subscribe to events"
	if s.Format == "" {
		s.Format = FormatEvent
	}
	service, err := c.eventService(ctx)
	if err != nil {
		return s, err
	}
	if len(service.Formats) > 0 && !slices.Contains(service.Formats, string(s.Format)) {
		return s, c.unsupported(op, "the BMC sends no %s", s.Format)
	}
	if known, ok, err := c.subscription(ctx, service, s); err != nil || ok {
		return known, err
	}
	q, err := c.serviceQuirks(ctx)
	if err != nil {
		return s, err
	}
	r := call{method: http.MethodPost, path: string(service.Subscriptions), body: s.body(q), hide: s.Destination}
	a, err := c.do(ctx, r)
	if err != nil && !q.exists(err) {
		return s, err
	}
	if uri, ok := resourcePath(a.header.Get("Location")); ok && err == nil {
		s.URI, s.State = uri, "Enabled"
		return s, nil
	}
	known, ok, again := c.subscription(ctx, service, s)
	if again == nil && !ok {
		if again = err; again == nil {
			again = c.protocolError(op, "the BMC accepted the subscription and does not list it")
		}
	}
	return known, again
}

func (c *Client) subscription(ctx context.Context, service eventServiceBody, s Subscription) (Subscription, bool, error) {
	list, err := c.subscriptions(ctx, service, func(d string) bool { return d == s.Destination.Reveal() })
	if Unreachable(err) {
		return s, false, err
	}
	for _, known := range list {
		if known.Format == s.Format {
			return known, true, nil
		}
	}
	return s, false, nil
}

func (s Subscription) body(q quirks) map[string]any {
	body := map[string]any{
		"Destination": s.Destination.Reveal(), "Protocol": "Redfish", "Context": s.Context, "EventFormatType": string(s.Format),
	}
	if !q.noRetryPolicy {
		body["DeliveryRetryPolicy"] = retryForever
	}
	return body
}

// exists says that a subscription was refused because there is one already.
func (q quirks) exists(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.MessageID == "ResourceAlreadyExists" || q.repeated != "" && e.MessageID == q.repeated)
}

// Unsubscribe deletes a subscription; one that is no more is no error.
func (c *Client) Unsubscribe(ctx context.Context, s Subscription) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: s.URI})
	if e, ok := errors.AsType[*Error](err); ok && e.StatusCode == http.StatusNotFound {
		return nil
	}
	return err
}
