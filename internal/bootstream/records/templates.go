package records

import (
	"sync"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// templates are the scripts whose texts were checked, so that the same text of the next machine is only looked up. They are forgotten all at
// once when there are maxTemplates.
type templates struct {
	mu sync.RWMutex
	by map[string]bootview.Script
}

// script makes the script of a record.
func (t *templates) script(s *streampb.Script) (bootview.Script, error) {
	if s.GetExact() { // what somebody wrote may be secret, and is not remembered
		return bootview.ScriptOf(s.GetText(), s.GetOwn(), true)
	}
	t.mu.RLock()
	known, ok := t.by[string(s.GetText())]
	t.mu.RUnlock()
	if ok {
		return known.WithOwn(s.GetOwn())
	}
	script, err := bootview.ScriptOf(s.GetText(), s.GetOwn(), false)
	if err != nil {
		return script, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil || len(t.by) >= maxTemplates {
		t.by = map[string]bootview.Script{}
	}
	t.by[string(s.GetText())] = script.Public()
	return script, nil
}
