//go:build budget

package sim

import (
	"net/http"
	"runtime"
	"testing"
)

// TestBudgetOfIdleServers holds the promise of doc.go, with room for what the
// race detector adds.
func TestBudgetOfIdleServers(t *testing.T) {
	const servers, mostBytes, mostGoroutines = 5000, 4096, 20
	before, goroutines := heap(), runtime.NumGoroutine()
	rack := startRack(t, Options{Servers: servers})
	if more := (heap() - before) / servers; more > mostBytes {
		t.Errorf("%d bytes for an idle server, more than %d", more, mostBytes)
	}
	if more := runtime.NumGoroutine() - goroutines; more > mostGoroutines {
		t.Errorf("%d goroutines for %d idle servers", more, servers)
	}
	rack.client(t, servers-1).want(http.StatusOK, http.MethodGet, systemURI, nil)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
