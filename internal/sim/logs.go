package sim

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// logID is the id of the one log that a system, and a manager, has.
	logID      = "SEL"
	maxEntries = 20
)

// eventLog is a log service: the newest entries.
type eventLog struct {
	mu      sync.Mutex
	next    int
	entries []logEntry
}

type logEntry struct {
	id                        int
	time                      time.Time
	severity, messageID, text string
}

func (l *eventLog) add(now time.Time, severity, messageID, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	l.entries = append(l.entries, logEntry{id: l.next, time: now, severity: severity, messageID: messageID, text: text})
	if len(l.entries) > maxEntries {
		l.entries = slices.Delete(l.entries, 0, len(l.entries)-maxEntries)
	}
}

func (l *eventLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

func (l *eventLog) list() []logEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// service, collection and entry are the three resources of a log. uri is that
// of the service.
func (l *eventLog) service(uri string, r *http.Request) (object, error) {
	if r.PathValue("log") != logID {
		return nil, errNotFound(r.URL.Path)
	}
	return object{
		"@odata.id": uri, "@odata.type": "#LogService.v1_8_0.LogService", "Id": logID, "Name": "System Event Log",
		"LogEntryType": "Event", "MaxNumberOfRecords": maxEntries, "OverWritePolicy": "WrapsWhenFull", "ServiceEnabled": true, "Status": healthy(),
		"Entries": link(uri + "/Entries"),
		"Actions": object{"#LogService.ClearLog": object{"target": uri + "/Actions/LogService.ClearLog"}},
	}, nil
}

// collection has its members in it, as most BMCs do.
func (l *eventLog) collection(uri string, r *http.Request) (object, error) {
	if r.PathValue("log") != logID {
		return nil, errNotFound(r.URL.Path)
	}
	all := []object{}
	for _, e := range l.list() {
		all = append(all, e.body(uri))
	}
	return object{
		"@odata.id": uri + "/Entries", "@odata.type": "#LogEntryCollection.LogEntryCollection", "Name": "LogEntryCollection",
		"Members": all, "Members@odata.count": len(all),
	}, nil
}

func (l *eventLog) entry(uri string, r *http.Request) (object, error) {
	entries := l.list()
	i := slices.IndexFunc(entries, func(e logEntry) bool { return strconv.Itoa(e.id) == r.PathValue("id") })
	if i < 0 || r.PathValue("log") != logID {
		return nil, errNotFound(r.URL.Path)
	}
	return entries[i].body(uri), nil
}

func (e logEntry) body(uri string) object {
	id := strconv.Itoa(e.id)
	return object{
		"@odata.id": uri + "/Entries/" + id, "@odata.type": "#LogEntry.v1_17_0.LogEntry", "Id": id, "Name": "Log Entry " + id,
		"EntryType": "Event", "Severity": e.severity, "Created": e.time.UTC().Format(time.RFC3339),
		"MessageId": e.messageID, "Message": e.text, "MessageArgs": []string{},
	}
}

func (m *Machine) logURI() string { return m.systemURI() + "/LogServices/" + logID }
func (b *bmc) logURI() string     { return b.managerURI() + "/LogServices/" + logID }

func getSystemLog(m *Machine, r *http.Request) (object, error) {
	return m.events.service(m.logURI(), r)
}

func getSystemEntries(m *Machine, r *http.Request) (object, error) {
	return m.events.collection(m.logURI(), r)
}

func getSystemEntry(m *Machine, r *http.Request) (object, error) {
	return m.events.entry(m.logURI(), r)
}

func clearSystemLog(m *Machine, _ caller, r *http.Request, _ object) (answer, error) {
	if r.PathValue("log") != logID {
		return answer{}, errNotFound(r.URL.Path)
	}
	m.events.clear()
	return answer{}, nil
}

func getManagerLog(b *bmc, r *http.Request) (object, error) { return b.log.service(b.logURI(), r) }

func getManagerEntries(b *bmc, r *http.Request) (object, error) {
	return b.log.collection(b.logURI(), r)
}

func getManagerEntry(b *bmc, r *http.Request) (object, error) { return b.log.entry(b.logURI(), r) }

func clearManagerLog(b *bmc, _ caller, r *http.Request, _ object) (answer, error) {
	if r.PathValue("manager") != b.managerID() || r.PathValue("log") != logID {
		return answer{}, errNotFound(r.URL.Path)
	}
	b.log.clear()
	return answer{}, nil
}
