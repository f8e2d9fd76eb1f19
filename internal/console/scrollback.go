package console

// maxScrollback is how much of the past who comes is shown: some screens.
const maxScrollback = 64 << 10

// scrollback keeps the last bytes.
type scrollback struct{ kept []byte }

func (s *scrollback) add(p []byte) {
	if len(p) >= maxScrollback {
		s.kept = append(s.kept[:0], p[len(p)-maxScrollback:]...)
		return
	}
	if over := len(s.kept) + len(p) - maxScrollback; over > 0 {
		s.kept = append(s.kept[:0], s.kept[over:]...)
	}
	s.kept = append(s.kept, p...)
}

// all are the bytes, in memory of their own.
func (s *scrollback) all() []byte { return append([]byte(nil), s.kept...) }
