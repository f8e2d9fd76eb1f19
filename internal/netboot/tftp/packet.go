package tftp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// Operations (RFC 1350 §5, RFC 2347).
const (
	opRead  = 1
	opWrite = 2
	opData  = 3
	opAck   = 4
	opError = 5
	opOAck  = 6
)

// Error codes (RFC 1350, appendix; RFC 2347).
const (
	codeUndefined = 0
	codeNotFound  = 1
	codeAccess    = 2
	codeIllegal   = 4
)

const (
	defaultBlock = 512
	// maxBlock fits an Ethernet frame over IPv6: 1500 less the headers of IPv6, UDP and TFTP. Fragments are what firmware fails on.
	maxBlock, minBlock = 1500 - 40 - 8 - 4, 8
	maxWindow          = 64
	maxTimeout         = 255
	maxOptions         = 16
)

// request is what a client wants to read, and how.
type request struct {
	file    string
	block   int
	window  int
	timeout int // seconds; 0: ours
	size    bool
	// options are those that it has sent and we accept, in its order.
	options []string
}

var errMalformed = errors.New("malformed TFTP request")

// readRequest decodes what comes after the operation (RFC 1350 §5, RFC 2347 §2).
func readRequest(b []byte) (request, error) {
	r := request{block: defaultBlock, window: 1}
	if len(b) == 0 || b[len(b)-1] != 0 {
		return r, errMalformed
	}
	fields := bytes.Split(b[:len(b)-1], []byte{0})
	if len(fields) < 2 || len(fields)%2 != 0 || len(fields) > 2+2*maxOptions {
		return r, errMalformed
	}
	r.file = strings.TrimPrefix(string(fields[0]), "/")
	if r.file == "" || !strings.EqualFold(string(fields[1]), "octet") {
		return r, errMalformed // netascii changes what is read
	}
	for i := 2; i < len(fields); i += 2 {
		r.option(strings.ToLower(string(fields[i])), string(fields[i+1]))
	}
	return r, nil
}

// option takes an option that it knows and whose value makes sense; all others are ignored (RFC 2347 §1).
func (r *request) option(name, value string) {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return
	}
	switch {
	case name == "blksize" && n >= minBlock:
		r.block = int(min(n, maxBlock))
	case name == "windowsize" && n >= 1:
		r.window = int(min(n, maxWindow))
	case name == "timeout" && n >= 1 && n <= maxTimeout:
		r.timeout = int(n)
	case name == "tsize":
		r.size = true
	default:
		return
	}
	r.options = append(r.options, name)
}

// oack acknowledges the options; nil: there are none.
func (r request) oack(size int64) []byte {
	if len(r.options) == 0 {
		return nil
	}
	b := []byte{0, opOAck}
	values := map[string]int64{"blksize": int64(r.block), "windowsize": int64(r.window), "timeout": int64(r.timeout), "tsize": size}
	for _, name := range r.options {
		b = append(append(b, name...), 0)
		b = append(strconv.AppendInt(b, values[name], 10), 0)
	}
	return b
}

func errorPacket(code uint16, text string) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, opError}, code)
	return append(append(b, text...), 0)
}
