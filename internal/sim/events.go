package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

const (
	maxSubscriptions = 8
	metricReportID   = "Power"

	formatEvent  = "Event"
	formatMetric = "MetricReport"

	// A rack delivers with a few workers. What does not fit into their queue is
	// lost, as with BMCs that are short of memory.
	deliveryWorkers  = 4
	deliveryQueue    = 4096
	deliveryAttempts = 3
	deliveryTimeout  = 5 * time.Second
)

// subscription is one EventDestination.
type subscription struct {
	id, destination, context, format string
	header                           map[string]string
}

// delivery is one event on its way.
type delivery struct {
	bmc         *bmc
	destination string
	header      map[string]string
	body        []byte
}

// happening is what an event tells.
type happening struct {
	kind, severity, messageID, text, origin string
}

// emit puts something that happened before all who subscribed to events.
func (b *bmc) emit(h happening) {
	b.mu.Lock()
	if len(b.subscriptions) == 0 {
		b.mu.Unlock()
		return
	}
	b.nextEvent++
	id := strconv.Itoa(b.nextEvent)
	to := slices.Clone(b.subscriptions)
	b.mu.Unlock()
	for _, s := range to {
		if s.format != formatEvent {
			continue
		}
		b.deliver(s, object{
			"@odata.type": "#Event.v1_9_0.Event", "Id": id, "Name": "Event Array", "Context": s.context,
			"Events": []object{{
				"EventType": h.kind, "EventId": id, "MemberId": "0", "EventTimestamp": b.now().UTC().Format(time.RFC3339),
				"Severity": h.severity, "MessageSeverity": h.severity, "MessageId": h.messageID, "Message": h.text,
				"MessageArgs": []string{}, "OriginOfCondition": link(h.origin),
			}},
		})
	}
}

// Destinations are where BMC i sends its events and metric reports.
func (r *Rack) Destinations(i int) (all []string) {
	b := r.bmcs[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subscriptions {
		all = append(all, s.destination)
	}
	return all
}

// SendMetricReport makes BMC i send a report to all who subscribed to such, and
// tells how many those are.
func (r *Rack) SendMetricReport(i int) int {
	b := r.bmcs[i]
	b.mu.Lock()
	to := slices.DeleteFunc(slices.Clone(b.subscriptions), func(s subscription) bool { return s.format != formatMetric })
	b.mu.Unlock()
	for _, s := range to {
		report := b.metricReport()
		report["Context"] = s.context
		b.deliver(s, report)
	}
	return len(to)
}

func (b *bmc) deliver(s subscription, body object) {
	if _, ok := b.struck(fault.DropEvents, ""); ok {
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	select {
	case b.rack.deliveries <- delivery{b, s.destination, s.header, text}:
	default:
		b.stats.add(func(s *Stats) { s.EventsLost++ })
	}
}

// deliverEvents is one worker.
func (r *Rack) deliverEvents() {
	for {
		select {
		case d := <-r.deliveries:
			r.send(d)
		case <-r.ctx.Done():
			return
		}
	}
}

// send tries a few times (DSP0266, DeliveryRetryAttempts).
func (r *Rack) send(d delivery) {
	pause := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		if d.try() {
			d.bmc.stats.add(func(s *Stats) { s.EventsDelivered++ })
			return
		}
		if attempt == deliveryAttempts || !r.wait(r.ctx, pause) {
			d.bmc.stats.add(func(s *Stats) { s.EventsLost++ })
			return
		}
		pause *= 2
	}
}

func (d delivery) try() bool {
	req, err := http.NewRequestWithContext(d.bmc.rack.ctx, http.MethodPost, d.destination, bytes.NewReader(d.body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range d.header {
		req.Header.Set(name, value)
	}
	client := d.bmc.outside()
	client.Timeout = deliveryTimeout
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode/100 == 2
}

func getEventService(b *bmc, _ *http.Request) (object, error) {
	o := object{
		"@odata.id": eventServiceURI, "@odata.type": "#EventService.v1_10_3.EventService",
		"Id": "EventService", "Name": "Event Service", "ServiceEnabled": true, "Status": healthy(),
		"DeliveryRetryAttempts": deliveryAttempts, "DeliveryRetryIntervalSeconds": 1,
		"EventFormatTypes": []string{formatEvent, formatMetric}, "EventTypesForSubscription": []string{"Alert", "StatusChange"},
		"RegistryPrefixes": []string{"ResourceEvent", "Base"}, "ResourceTypes": []string{"ComputerSystem", "Manager"},
		"Subscriptions": link(subscriptionsURI),
		"Actions":       object{"#EventService.SubmitTestEvent": object{"target": testEventURI}},
	}
	return o, nil
}

func (b *bmc) subscriptionIDs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, s := range b.subscriptions {
		out = append(out, s.id)
	}
	return out
}

// postSubscription subscribes (DSP0266, "Event subscriptions").
func postSubscription(b *bmc, _ caller, _ *http.Request, body object) (answer, error) {
	s := subscription{format: formatEvent}
	for _, required := range []string{"Destination", "Protocol"} {
		if _, ok := body[required]; !ok {
			return answer{}, errMissing(required)
		}
	}
	for name, value := range body {
		if err := s.set(b, name, value); err != nil {
			return answer{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	same := slices.ContainsFunc(b.subscriptions, func(o subscription) bool { return o.destination == s.destination && o.format == s.format })
	if same && b.quirks.sameSubscription != nil {
		return answer{}, b.quirks.sameSubscription
	}
	if len(b.subscriptions) >= maxSubscriptions {
		return answer{}, &failure{status: http.StatusBadRequest, id: "EventSubscriptionLimitExceeded", text: "The event subscription failed due to the number of simultaneous subscriptions exceeding the limit of the implementation."}
	}
	b.nextSubscription++
	s.id = strconv.Itoa(b.nextSubscription)
	b.subscriptions = append(b.subscriptions, s)
	return answer{status: http.StatusCreated, body: s.body(), header: map[string]string{"Location": subscriptionsURI + "/" + s.id}}, nil
}

func (s *subscription) set(b *bmc, name string, value any) error {
	text, isText := value.(string)
	switch name {
	case "Destination":
		u, err := url.Parse(text)
		if err != nil || !isText || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || len(text) > maxFirmwareURI {
			return errValue(name, text)
		}
		s.destination = text
	case "Protocol":
		_, err := oneOf(name, value, []string{"Redfish"})
		return err
	case "Context":
		if !isText || len(text) > maxContext {
			return errValueType(name)
		}
		s.context = text
	case "EventFormatType":
		format, err := oneOf(name, value, []string{formatEvent, formatMetric})
		s.format = format
		return err
	case "DeliveryRetryPolicy":
		if b.quirks.noRetryPolicy {
			return errUnknownProperty(name)
		}
		_, err := oneOf(name, value, []string{"TerminateAfterRetries", "SuspendRetries", "RetryForever", "RetryForeverWithBackoff"})
		return err
	case "HttpHeaders":
		var err error
		s.header, err = readHeaders(value)
		return err
	case "EventTypes", "RegistryPrefixes", "ResourceTypes", "MetricReportDefinitions", "MessageIds", "OriginResources",
		"SubordinateResources", "SubscriptionType", "VerifyCertificate", "Name":
	default:
		return errUnknownProperty(name)
	}
	return nil
}

// readHeaders reads an array of objects of strings.
func readHeaders(value any) (map[string]string, error) {
	list, ok := value.([]any)
	if !ok || len(list) > 8 {
		return nil, errValueType("HttpHeaders")
	}
	out := map[string]string{}
	for _, member := range list {
		pairs, ok := member.(object)
		if !ok {
			return nil, errValueType("HttpHeaders")
		}
		for name, v := range pairs {
			text, ok := v.(string)
			if !ok || len(name)+len(text) > 1024 {
				return nil, errValueType("HttpHeaders")
			}
			out[name] = text
		}
	}
	return out, nil
}

func (s subscription) body() object {
	return object{
		"@odata.id": subscriptionsURI + "/" + s.id, "@odata.type": "#EventDestination.v1_15_0.EventDestination",
		"Id": s.id, "Name": "Subscription " + s.id, "Destination": s.destination, "Context": s.context, "Protocol": "Redfish",
		"EventFormatType": s.format, "SubscriptionType": "RedfishEvent", "VerifyCertificate": false, "HttpHeaders": []object{}, "Status": healthy(),
	}
}

func (b *bmc) subscriptionAt(r *http.Request) (int, error) {
	i := slices.IndexFunc(b.subscriptions, func(s subscription) bool { return s.id == r.PathValue("id") })
	if i < 0 {
		return 0, errNotFound(r.URL.Path)
	}
	return i, nil
}

func getSubscription(b *bmc, r *http.Request) (object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.subscriptionAt(r)
	if err != nil {
		return nil, err
	}
	return b.subscriptions[i].body(), nil
}

func patchSubscription(b *bmc, _ caller, r *http.Request, body object) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.subscriptionAt(r)
	if err != nil {
		return err
	}
	changed := b.subscriptions[i]
	for name, value := range body {
		if name != "Context" && name != "DeliveryRetryPolicy" && name != "VerifyCertificate" && name != "HttpHeaders" {
			return errReadOnly(name)
		}
		if err := changed.set(b, name, value); err != nil {
			return err
		}
	}
	b.subscriptions[i] = changed
	return nil
}

func deleteSubscription(b *bmc, _ caller, r *http.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.subscriptionAt(r)
	if err != nil {
		return err
	}
	b.subscriptions = slices.Delete(b.subscriptions, i, i+1)
	return nil
}

func postTestEvent(b *bmc, _ caller, _ *http.Request, _ object) (answer, error) {
	b.emit(happening{"Alert", "OK", "ResourceEvent.1.3.TestMessage", "This is a test event.", b.managerURI()})
	return answer{}, nil
}

func getTelemetryService(*bmc, *http.Request) (object, error) {
	return object{
		"@odata.id": telemetryURI, "@odata.type": "#TelemetryService.v1_3_4.TelemetryService", "Id": "TelemetryService",
		"Name": "Telemetry Service", "ServiceEnabled": true, "Status": healthy(), "MetricReports": link(metricReportsURI),
	}, nil
}

func getMetricReport(b *bmc, r *http.Request) (object, error) {
	if r.PathValue("id") != metricReportID {
		return nil, errNotFound(r.URL.Path)
	}
	return b.metricReport(), nil
}

// metricReport invents watts that go with the power state.
func (b *bmc) metricReport() object {
	now := b.now().UTC().Format(time.RFC3339)
	values := []object{}
	for _, m := range b.machines {
		watts := 15
		if m.PowerState() != PowerOff {
			watts = 180 + int(m.hash("watts")[0])
		}
		values = append(values, object{
			"MetricId": "PowerConsumedWatts", "MetricValue": strconv.Itoa(watts), "Timestamp": now,
			"MetricProperty": m.chassisURI() + "/Power#/PowerControl/0/PowerConsumedWatts",
		})
	}
	return object{
		"@odata.id": metricReportsURI + "/" + metricReportID, "@odata.type": "#MetricReport.v1_5_1.MetricReport", "Id": metricReportID,
		"Name": "Power Metric Report", "ReportSequence": "1", "Timestamp": now, "MetricValues": values,
	}
}
