package registry

import (
	"testing"
	"time"
)

func TestDueQueue(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	var q dueQueue
	entries := map[string]*entry{}
	for name, seconds := range map[string]int{"a": 5, "b": 1, "c": 3} {
		entries[name] = &entry{index: -1, request: Request{Reference: name}}
		q.add(entries[name], at(seconds))
	}
	q.add(entries["a"], at(2)) // sooner than before
	q.remove(entries["c"])
	q.remove(entries["c"])
	if e, wait := q.take(at(0)); e != nil || wait != time.Second {
		t.Errorf("at 0 s: %v, wait %v", e, wait)
	}
	for _, want := range []string{"b", "a"} {
		if e, _ := q.take(at(9)); e == nil || e.request.Reference != want {
			t.Errorf("took %+v, want %s", e, want)
		}
	}
	if e, wait := q.take(at(9)); e != nil || wait != 0 {
		t.Errorf("empty: %v, wait %v", e, wait)
	}
}
