package bootview

// sessions are those that some entry has, by what they are about. They are for writers, who have View.mu.
type sessions map[string]*Session

// join is the session of an entry, which has it from now on; nil: it has none.
func (x sessions) join(e *Entry) *Session {
	id := e.session()
	if id == "" {
		return nil
	}
	s := x[id]
	if s == nil {
		s = &Session{id: id}
		x[id] = s
	}
	s.entries++
	s.take(e.Terms)
	return s
}

// leave ends a session with the last entry that has it.
func (x sessions) leave(s *Session) {
	if s == nil {
		return
	}
	if s.entries--; s.entries == 0 {
		delete(x, s.id)
	}
}
