package console

// filter takes the keys out of what people type by which a BMC would lead them to its own command line, where they would have Farrier's rights.
type filter struct {
	leave   string
	matched int
}

// pass returns what may go to the BMC. The last key of the sequence is left out, however the sequence is cut into pieces.
func (f *filter) pass(p []byte) []byte {
	if f.leave == "" {
		return p
	}
	out := make([]byte, 0, len(p))
	for _, b := range p {
		switch b {
		case f.leave[f.matched]:
			f.matched++
		case f.leave[0]:
			f.matched = 1
		default:
			f.matched = 0
		}
		if f.matched == len(f.leave) {
			f.matched = 0
			continue
		}
		out = append(out, b)
	}
	return out
}
