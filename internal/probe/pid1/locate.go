package pid1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxAnswer bounds what a boot server says where to report to, an ignition included.
	maxAnswer = 8 << 20
	askTime   = 15 * time.Second
)

// destination is where this machine reports to, and as whom.
type destination struct{ registryURL, serverUUID string }

// machineID is what the machine says of itself.
type machineID struct {
	uuid, serial string
	macs         []string
}

// locator finds out where to report to.
type locator struct {
	settings settings
	client   *http.Client
}

var errNoServer = errors.New("the boot server is not known: the command line has no farrier.boot-url=, and no DHCP server named a URL of it")

// locate asks once. offered are the URLs that DHCP servers named.
func (l locator) locate(ctx context.Context, id machineID, offered []string) (destination, error) {
	own := destination{l.settings.registryURL, l.settings.serverUUID}
	if own.serverUUID == "" {
		own.serverUUID = id.uuid
	}
	switch {
	case own.registryURL != "":
		return own, nil
	case l.settings.ignitionURL != "":
		d, err := l.fromIgnition(ctx)
		if err != nil {
			return d, err
		}
		if d.serverUUID == "" {
			d.serverUUID = own.serverUUID
		}
		return d, nil
	}
	bases := candidates(l.settings.bootURL, offered)
	if len(bases) == 0 {
		return destination{}, errNoServer
	}
	var errs []error
	for _, base := range bases {
		d, err := l.ask(ctx, base, id)
		if err == nil {
			return d, nil
		}
		errs = append(errs, err)
	}
	return destination{}, errors.Join(errs...)
}

// candidates are the boot servers that may know this machine, in the order in which they are asked.
func candidates(configured string, offered []string) []string {
	if configured != "" {
		return []string{configured}
	}
	var out []string
	seen := map[string]bool{}
	for _, text := range offered {
		if base := bootServerOf(text); base != "" && !seen[base] {
			seen[base] = true
			out = append(out, base)
		}
	}
	return out
}

// ask asks a boot server for this machine. The answer holds a token, so it is never printed.
func (l locator) ask(ctx context.Context, base string, id machineID) (destination, error) {
	uuid := id.uuid
	if uuid == "" {
		uuid = "unknown"
	}
	query := url.Values{}
	for _, mac := range id.macs {
		query.Set("mac", mac)
		break
	}
	if id.serial != "" {
		query.Set("serial", id.serial)
	}
	body, err := l.get(ctx, base+"/probe/"+url.PathEscape(uuid)+"?"+query.Encode())
	if err != nil {
		return destination{}, fmt.Errorf("boot server %s: %w", base, err)
	}
	var answer struct{ RegistryURL, ServerUUID string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return destination{}, fmt.Errorf("boot server %s: its answer is not JSON", base)
	}
	registryURL, err := httpURL(answer.RegistryURL)
	if err != nil || answer.ServerUUID == "" {
		return destination{}, fmt.Errorf("boot server %s: its answer does not say where to report", base)
	}
	return destination{registryURL, answer.ServerUUID}, nil
}

// fromIgnition reads the ignition that the script names, as Ignition would: the flags of metalprobe are in a unit of it. An ignition without them comes
// from a boot server whose token is in its URL.
func (l locator) fromIgnition(ctx context.Context) (destination, error) {
	base := bootServerOf(l.settings.ignitionURL)
	body, err := l.get(ctx, l.settings.ignitionURL)
	if err != nil {
		return destination{}, fmt.Errorf("ignition of %s: %w", base, err)
	}
	if d, ok := flagsIn(body); ok {
		return d, nil
	}
	if u, err := url.Parse(l.settings.ignitionURL); err == nil && base != "" {
		if token := u.Query().Get("token"); token != "" {
			return destination{registryURL: base + "/probe/" + url.PathEscape(token)}, nil
		}
	}
	return destination{}, fmt.Errorf("ignition of %s: it does not start metalprobe, and its URL has no token", base)
}

// flagsIn finds the flags of metalprobe in the units of an ignition config.
func flagsIn(body []byte) (destination, bool) {
	var config struct {
		Systemd struct{ Units []struct{ Contents string } }
	}
	if json.Unmarshal(body, &config) != nil {
		return destination{}, false
	}
	for _, unit := range config.Systemd.Units {
		var d destination
		for field := range strings.FieldsSeq(unit.Contents) {
			field = "--" + strings.TrimLeft(field, "-")
			if value, ok := strings.CutPrefix(field, "--registry-url="); ok {
				d.registryURL, _ = httpURL(value) // empty: the next unit
			}
			if value, ok := strings.CutPrefix(field, "--server-uuid="); ok {
				d.serverUUID = value
			}
		}
		if d.registryURL != "" {
			return d, true
		}
	}
	return destination{}, false
}

// get fetches a URL that may hold a token: no error names it.
func (l locator) get(ctx context.Context, at string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, errors.New("not a URL that can be asked")
	}
	answer, err := l.client.Do(req)
	if err != nil {
		if told, ok := errors.AsType[*url.Error](err); ok {
			err = told.Err
		}
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	case answer.StatusCode == http.StatusNotFound:
		return nil, errors.New("HTTP 404: it has no open boot for this machine")
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	return body, nil
}
