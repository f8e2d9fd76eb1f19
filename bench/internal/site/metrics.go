package site

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// maxMetrics bounds what is read of an answer.
const maxMetrics = 64 << 20

// sample is one line of metrics in the text format of Prometheus.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// scrape reads the samples whose names begin with a prefix.
func scrape(ctx context.Context, c *http.Client, url, prefix string) ([]sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s says %s", url, response.Status)
	}
	var samples []sample
	lines := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s, ok := parse(lines.Text()); ok && strings.HasPrefix(s.name, prefix) {
			samples = append(samples, s)
		}
	}
	return samples, lines.Err()
}

func parse(line string) (s sample, ok bool) {
	end := strings.LastIndexByte(line, ' ')
	if end < 0 || strings.HasPrefix(line, "#") {
		return s, false
	}
	value, err := strconv.ParseFloat(line[end+1:], 64)
	if err != nil {
		return s, false
	}
	name, labels, _ := strings.Cut(line[:end], "{")
	s = sample{name: name, labels: map[string]string{}, value: value}
	for _, match := range label.FindAllStringSubmatch(labels, -1) {
		s.labels[match[1]] = match[2]
	}
	return s, true
}

// Requests are the requests that an API has answered, to objects of one kind.
type Requests struct {
	// Creates, Updates and StatusUpdates are writes; deletions and reads of single objects count as neither.
	Creates, Updates, StatusUpdates, Deletes, Reads int
	// Seconds and StatusSeconds are what the API took for updates, and for those of status.
	Seconds, StatusSeconds float64
}

// Writes are all writes but deletions.
func (r Requests) Writes() int { return r.Creates + r.Updates + r.StatusUpdates }

// Requests asks the API what it has answered, by the plural name of the kind.
func (a *API) Requests(ctx context.Context) (map[string]Requests, error) {
	samples, err := scrape(ctx, a.http, a.Config.Host+"/metrics", "apiserver_request_")
	if err != nil {
		return nil, err
	}
	found := map[string]Requests{}
	for _, s := range samples {
		r := found[s.labels["resource"]]
		r.count(s)
		found[s.labels["resource"]] = r
	}
	return found, nil
}

func (r *Requests) count(s sample) {
	verb, status := s.labels["verb"], s.labels["subresource"] == "status"
	update := verb == "PATCH" || verb == "PUT" || verb == "APPLY"
	switch {
	case s.name == "apiserver_request_total" && strings.HasPrefix(s.labels["code"], "2"):
		switch {
		case verb == "POST":
			r.Creates += int(s.value)
		case verb == "DELETE":
			r.Deletes += int(s.value)
		case verb == "GET":
			r.Reads += int(s.value)
		case update && status:
			r.StatusUpdates += int(s.value)
		case update:
			r.Updates += int(s.value)
		}
	case s.name == "apiserver_request_duration_seconds_sum" && update:
		if r.Seconds += s.value; status {
			r.StatusSeconds += s.value
		}
	}
}
