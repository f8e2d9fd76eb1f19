package disk

// parseSense reads sense data in both formats (SPC-5 §4.4.2, §4.4.3).
func parseSense(b []byte) *SenseError {
	at := func(i int) uint8 {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	switch at(0) & 0x7f {
	case 0x72, 0x73: // descriptor format
		return &SenseError{Key: at(1) & 0xf, ASC: at(2), ASCQ: at(3)}
	default:
		return &SenseError{Key: at(2) & 0xf, ASC: at(12), ASCQ: at(13)}
	}
}
