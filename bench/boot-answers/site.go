package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/bootview"
)

// What machines ask. Each is a row of the table.
const (
	pathIPXE     = "/ipxe/{uuid}"
	pathIgnition = "/ignition/{uuid}"
	pathHTTPBoot = "/httpboot"
	pathConfig   = "/config/{id}"
	pathLabels   = "/ipxe?labels"
)

var paths = []string{pathIPXE, pathIgnition, pathHTTPBoot, pathConfig, pathLabels}

// bootURL is under which machines know the boot server.
const bootURL = "http://boot.example:8082"

// image is what all machines of the site boot.
const image = bootURL + "/image?imageName=registry.example%2Fos%2Fgardenlinux&layerDigest=sha256%3A"

// machine i of the site, as the controllers would put it: claimed, its boot ordered.
func machine(i, ignition int) ([]bootview.Entry, error) {
	attempt := bootview.Attempt{ID: fmt.Sprintf("attempt-%d", i), Token: token(i), Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL:     bootURL,
		KernelURL:   image + digest('a'),
		InitrdURL:   image + digest('b'),
		SquashfsURL: image + digest('c'),
		Attempt:     attempt,
	})
	if err != nil {
		return nil, fmt.Errorf("machine %d: %w", i, err)
	}
	e := bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/default/machine-%06d", i), UUID: uuid(i), Serial: fmt.Sprintf("SN%06d", i),
		MACs: []string{fmt.Sprintf("02:fa:44:%02x:%02x:%02x", i>>16&0xff, i>>8&0xff, i&0xff)}, IPs: []string{address(i)},
		Rank: bootview.Current, Script: script, Attempt: attempt, Terms: bootview.Terms{Seen: time.Now(), Repeats: true},
		Ignition: &bootview.Ignition{Payload: payload(i, ignition), ContentType: "application/json"},
	}
	h := e
	h.Name = fmt.Sprintf("HTTPBootConfig/default/machine-%06d", i)
	h.Script = bootview.Script{}
	h.FileURL = bootURL + "/httpboot/registry.example/os/gardenlinux/sha256-" + digest('d') + ".efi"
	return []bootview.Entry{e, h}, nil
}

func uuid(i int) string    { return fmt.Sprintf("4c4c4544-0043-3510-8052-%012x", i) }
func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16&0xff, i>>8&0xff, i&0xff) }
func token(i int) string   { return fmt.Sprintf("%043d", i) } // as long as an HMAC-SHA256 in base64url
func digest(c byte) string { return string(bytes.Repeat([]byte{c}, 64)) }

// Bytes of an ignition: of one with a user, a few units and files, and what it needs at least.
const usualIgnition, leastIgnition = 4 << 10, 256

// payload is an ignition of its own for every machine.
func payload(i, size int) []byte {
	b := make([]byte, 0, size)
	b = fmt.Appendf(b, `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,machine-%06d"}}]},"pad":"`, i)
	b = append(b, bytes.Repeat([]byte{'x'}, size-len(b)-2)...)
	return append(b, `"}`...)
}

// request appends what machine i of a site sends. It has to cost little: the load
// generator shares the processor with the server.
func request(path string, i int, dst []byte) []byte {
	const uuidStart = "4c4c4544-0043-3510-8052-"
	switch path {
	case pathIPXE:
		dst = append(dst, "GET /ipxe/"+uuidStart...)
		dst = appendPadded(dst, uint64(i), 16, 12)
	case pathIgnition:
		dst = append(dst, "GET /ignition/"+uuidStart...)
		dst = appendPadded(dst, uint64(i), 16, 12)
		dst = append(dst, "?token="...)
		dst = appendPadded(dst, uint64(i), 10, 43)
	case pathConfig:
		dst = append(dst, "GET /config/"+configIDs[i%profileCount]+"?uuid="+namesStart...)
		dst = appendPadded(dst, uint64(i), 16, 12)
		dst = append(dst, namesRest...)
	case pathLabels:
		dst = append(dst, "GET /ipxe?uuid="+namesStart...)
		dst = appendPadded(dst, uint64(i), 16, 12)
		dst = append(dst, namesRest...)
	case pathHTTPBoot:
		// A DHCP server on the same host asks for the machine.
		dst = append(dst, "GET /httpboot HTTP/1.1\r\nHost: boot.example:8082\r\nX-Forwarded-For: 10."...)
		for shift := 16; shift >= 0; shift -= 8 {
			dst = strconv.AppendUint(dst, uint64(i>>shift&0xff), 10)
			if shift > 0 {
				dst = append(dst, '.')
			}
		}
		return append(dst, "\r\n\r\n"...)
	}
	return append(dst, " HTTP/1.1\r\nHost: boot.example:8082\r\n\r\n"...)
}

func appendPadded(dst []byte, n uint64, numberBase, width int) []byte {
	start := len(dst)
	dst = strconv.AppendUint(dst, n, numberBase)
	digits := len(dst) - start
	for range width - digits {
		dst = append(dst, '0')
	}
	copy(dst[len(dst)-digits:], dst[start:start+digits])
	for j := range width - digits {
		dst[start+j] = '0'
	}
	return dst
}

// random makes requests of machines drawn at random, from the first of them on.
func random(path string, first, machines int) func(*rand.Rand, []byte) []byte {
	return func(r *rand.Rand, dst []byte) []byte { return request(path, first+r.IntN(machines), dst) }
}
