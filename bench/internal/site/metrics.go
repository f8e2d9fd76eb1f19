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

// Sample is one line of metrics in the text format of Prometheus.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// Scrape reads the samples whose names begin with a prefix.
func Scrape(ctx context.Context, c *http.Client, url, prefix string) ([]Sample, error) {
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
	var samples []Sample
	lines := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s, ok := parse(lines.Text()); ok && strings.HasPrefix(s.Name, prefix) {
			samples = append(samples, s)
		}
	}
	return samples, lines.Err()
}

func parse(line string) (s Sample, ok bool) {
	end := strings.LastIndexByte(line, ' ')
	if end < 0 || strings.HasPrefix(line, "#") {
		return s, false
	}
	value, err := strconv.ParseFloat(line[end+1:], 64)
	if err != nil {
		return s, false
	}
	name, labels, _ := strings.Cut(line[:end], "{")
	s = Sample{Name: name, Labels: map[string]string{}, Value: value}
	for _, match := range label.FindAllStringSubmatch(labels, -1) {
		s.Labels[match[1]] = match[2]
	}
	return s, true
}

// Requests are the requests that an API has answered, to objects of one kind.
type Requests struct {
	// Creates, Updates and StatusUpdates are writes; deletions and reads of single objects count as neither.
	Creates, Updates, StatusUpdates, Deletes, Reads int
	// Refused are writes that the client got wrong, by its version of an object most of all (status 4xx).
	Refused int
	// Seconds and StatusSeconds are what the API took for updates, and for those of status.
	Seconds, StatusSeconds float64
}

// Writes are all writes but deletions.
func (r Requests) Writes() int { return r.Creates + r.Updates + r.StatusUpdates }

// Requests asks the API what it has answered, by the plural name of the kind.
func (a *API) Requests(ctx context.Context) (map[string]Requests, error) {
	samples, err := Scrape(ctx, a.http, a.Config.Host+"/metrics", "apiserver_request_")
	if err != nil {
		return nil, err
	}
	found := map[string]Requests{}
	for _, s := range samples {
		r := found[s.Labels["resource"]]
		r.count(s)
		found[s.Labels["resource"]] = r
	}
	return found, nil
}

func (r *Requests) count(s Sample) {
	verb, status := s.Labels["verb"], s.Labels["subresource"] == "status"
	update := verb == "PATCH" || verb == "PUT" || verb == "APPLY"
	switch {
	case s.Name == "apiserver_request_total" && strings.HasPrefix(s.Labels["code"], "4") && (update || verb == "POST"):
		r.Refused += int(s.Value)
	case s.Name == "apiserver_request_total" && strings.HasPrefix(s.Labels["code"], "2"):
		switch {
		case verb == "POST":
			r.Creates += int(s.Value)
		case verb == "DELETE":
			r.Deletes += int(s.Value)
		case verb == "GET":
			r.Reads += int(s.Value)
		case update && status:
			r.StatusUpdates += int(s.Value)
		case update:
			r.Updates += int(s.Value)
		}
	case s.Name == "apiserver_request_duration_seconds_sum" && update:
		if r.Seconds += s.Value; status {
			r.StatusSeconds += s.Value
		}
	}
}
