package bmc

import (
	"context"
	"slices"
	"strings"
	"time"
)

// LogEntry is a line of a log of a BMC.
type LogEntry struct {
	Log       string // Id of the log service: SEL, Lclog, IML, …
	ID        string
	Created   time.Time // zero: the BMC does not say
	Severity  string    // OK, Warning, Critical
	MessageID string
	Message   string
}

const (
	// maxLogs and maxLogEntries bound what is read of all logs of one resource.
	maxLogs       = 8
	maxLogEntries = 1000
	// maxLogPages bounds how many pages of one log are read.
	maxLogPages = 32
)

type logEntryBody struct {
	Link      text `json:"@odata.id"`
	ID        text `json:"Id"`
	Created   text
	Timestamp text `json:"EventTimestamp"`
	Severity  text
	MessageID text `json:"MessageId"`
	Message   text
}

type logPage struct {
	Members []logEntryBody
	Next    text `json:"Members@odata.nextLink"`
}

func (b *logEntryBody) entry(log string) LogEntry {
	e := LogEntry{
		Log: log, ID: string(b.ID), Severity: string(b.Severity), MessageID: printable(string(b.MessageID), 100), Message: printable(string(b.Message), 1000),
	}
	for _, s := range []text{b.Timestamp, b.Created} {
		if at, err := time.Parse(time.RFC3339, string(s)); err == nil {
			e.Created = at
			break
		}
	}
	return e
}

// Log reads the newest entries, at most limit, of the logs of a system or of the manager, newest
// first. What entries say is the BMC's word; secrets of this client are not among it.
func (c *Client) Log(ctx context.Context, of string, limit int) ([]LogEntry, error) {
	limit = min(limit, maxLogEntries)
	var owner struct{ LogServices link }
	if _, err := c.get(ctx, of, &owner); err != nil {
		return nil, err
	}
	type service struct {
		ID      text `json:"Id"`
		Entries link
	}
	var services []*service
	if err := each(ctx, c, owner.LogServices, func(_ string, b *service) { services = append(services, b) }); err != nil {
		return nil, err
	}
	var entries []LogEntry
	for _, s := range services[:min(len(services), maxLogs)] {
		list, err := c.logEntries(ctx, string(s.ID), string(s.Entries))
		if Unreachable(err) {
			return nil, err
		}
		entries = append(entries, list...) // a log that cannot be read does not hide the others
	}
	// BMCs sort either way, and those without a clock not by time.
	slices.SortStableFunc(entries, func(a, b LogEntry) int { return b.Created.Compare(a.Created) })
	return c.clean(ctx, entries[:min(len(entries), limit)])
}

// logEntries reads a log page after page. Most services show entries whole in the
// collection; of those that do not, nothing is read but the links.
func (c *Client) logEntries(ctx context.Context, log, path string) (entries []LogEntry, err error) {
	reads := maxMembers
	for pages := 0; path != "" && pages < maxLogPages && len(entries) < maxLogEntries; pages++ {
		if interrupted(ctx) {
			return nil, ErrInterrupted
		}
		var page logPage
		if _, err := c.get(ctx, path, &page); err != nil {
			return entries, err
		}
		var links []string
		for _, b := range page.Members {
			uri, ok := resourcePath(string(b.Link))
			if ok && b.Message == "" && b.MessageID == "" && b.ID == "" {
				links = append(links, uri)
				continue
			}
			entries = append(entries, b.entry(log))
		}
		links = links[:min(len(links), reads)]
		reads -= len(links)
		err := eachOf(ctx, c, bare[logEntryBody](links), func(_ string, b *logEntryBody) { entries = append(entries, b.entry(log)) })
		if Unreachable(err) {
			return nil, err
		}
		if len(page.Members) == 0 {
			break
		}
		path, _ = resourcePath(strings.TrimSpace(string(page.Next)))
	}
	return entries, nil
}

// clean keeps our password out of what a BMC wrote down of our requests.
func (c *Client) clean(ctx context.Context, entries []LogEntry) ([]LogEntry, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	for i := range entries {
		entries[i].Message = c.redact(entries[i].Message, "")
	}
	return entries, nil
}
