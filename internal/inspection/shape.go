package inspection

import "fmt"

// Bounds of a message, some times what a machine with hundreds of disks and PCI functions sends. A list of empty objects takes three bytes an
// element and some hundred when it is decoded, so the bytes of a message say little about what it costs.
const (
	maxValues  = 1 << 16
	maxNesting = 16
)

// checkShape counts the values of a JSON text and how deep they are nested, without decoding it. Whether it is JSON at all is the decoder's
// to say.
func checkShape(body []byte) error {
	values, depth, inString := 1, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return fmt.Errorf("%w: nested deeper than %d", ErrTooLarge, maxNesting)
			}
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		if values > maxValues {
			return fmt.Errorf("%w: more than %d values", ErrTooLarge, maxValues)
		}
	}
	return nil
}
