package attach

// act is what a person asks the command for.
type act int

const (
	nothing act = iota
	quit
	help
	take
)

// Help is what Enter ~ ? prints.
const Help = `Keys after Enter:
  ~.  leave the console
  ~w  write in place of whoever does
  ~~  type ~
  ~?  this help
`

// keys finds the escape sequences, which count at the beginning of a line alone, as those of ssh.
type keys struct{ inLine, escaped bool }

// read takes what was typed up to the first thing that the command itself is asked for. It returns what goes to the console, and what is left to read.
func (k *keys) read(typed []byte) (send []byte, what act, rest []byte) {
	for i, b := range typed {
		if k.escaped {
			k.escaped, k.inLine = false, true
			switch b {
			case '.':
				return send, quit, typed[i+1:]
			case '?':
				k.inLine = false
				return send, help, typed[i+1:]
			case 'w':
				k.inLine = false
				return send, take, typed[i+1:]
			case '~':
			default:
				send = append(send, '~')
			}
		} else if b == '~' && !k.inLine {
			k.escaped = true
			continue
		}
		send = append(send, b)
		k.inLine = b != '\r' && b != '\n'
	}
	return send, nothing, nil
}
