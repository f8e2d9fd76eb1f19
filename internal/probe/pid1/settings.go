package pid1

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/probe"
)

// ending is what becomes of the machine when it has reported.
type ending string

const (
	endWait     ending = "wait" // Farrier switches it off by its BMC
	endPowerOff ending = "poweroff"
	endReboot   ending = "reboot"
)

// settings are what the kernel's command line says.
type settings struct {
	bootURL     string // the boot server
	registryURL string // where to report to, if that is known without asking
	ignitionURL string // of which the boot server is known, and which may say where to report to
	serverUUID  string // empty: that of SMBIOS
	lldp        time.Duration
	end         ending
}

// readSettings reads a command line. What is wrong with a setting is said, and the setting left out: the machine reports all the same where it can.
func readSettings(line string) (settings, []error) {
	s := settings{lldp: probe.DefaultLLDPDuration, end: endWait}
	var problems []error
	wrong := func(key string, err error) {
		problems = append(problems, fmt.Errorf("kernel command line: %s: %w", key, err))
	}
	for field := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(field, "=")
		value = strings.Trim(value, `"`)
		var err error
		switch key {
		case "farrier.boot-url":
			s.bootURL, err = httpURL(value)
		case "farrier.registry-url":
			s.registryURL, err = httpURL(value)
		case "ignition.config.url":
			s.ignitionURL, err = httpURL(value)
		case "farrier.server-uuid":
			s.serverUUID = value
		case "farrier.lldp-duration":
			var d time.Duration
			if d, err = time.ParseDuration(value); err == nil && d >= 0 {
				s.lldp = d
			}
		case "farrier.end":
			switch e := ending(value); e {
			case endWait, endPowerOff, endReboot:
				s.end = e
			default:
				err = fmt.Errorf("want %s, %s or %s", endWait, endPowerOff, endReboot)
			}
		}
		if err != nil {
			wrong(key, err)
		}
	}
	return s, problems
}

// httpURL never repeats the URL: it may hold a token.
func httpURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("want an http or https URL")
	}
	return strings.TrimRight(text, "/"), nil
}

// bootServerOf is the base of a boot server by one of the URLs that it gives to firmware; empty: it is not one of them.
func bootServerOf(text string) string {
	text, err := httpURL(text)
	if err != nil {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	for _, part := range []string{"/httpboot/", "/ignition/", "/ipxe/", "/boot/", "/boot.ipxe"} {
		if before, _, ok := strings.Cut(u.Path+"/", part); ok {
			return u.Scheme + "://" + u.Host + before
		}
	}
	return ""
}
