package console

import "maps"

// Viewers are those who watch the console of a server now.
func (h *Hub) Viewers(server string) map[*Viewer]struct{} {
	h.mu.Lock()
	s := h.sessions[server]
	h.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.viewers)
}
