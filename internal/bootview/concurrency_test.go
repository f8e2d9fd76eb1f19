package bootview

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestReadersAndWriters is for the race detector; readers must only ever see whole
// machines.
func TestReadersAndWriters(t *testing.T) {
	v := view()
	done := make(chan struct{})
	var readers, writer sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				m, status := v.ByUUID(uuidA)
				if status == Found && !strings.HasSuffix(string(m.Script().Render("")), m.ScriptEntry()) {
					t.Errorf("script %q with entry %q", m.Script().Render(""), m.ScriptEntry())
					return
				}
			}
		})
	}
	writer.Go(func() {
		for i := range 2_000 {
			e := ipxe("a", Current, nil)
			e.Name = fmt.Sprintf("IPXEBootConfig/ns/%d", i%3)
			e.Script = text("of " + e.Name)
			v.Put(e)
			v.Delete(fmt.Sprintf("IPXEBootConfig/ns/%d", (i+2)%3))
		}
	})
	writer.Wait()
	close(done)
	readers.Wait()
}
