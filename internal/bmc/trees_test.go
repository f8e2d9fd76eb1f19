package bmc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

// tree is a service as data: what it answers to a GET of each path, with or without a slash at its end, and what is to be
// found there.
type tree struct {
	About string
	// Login is the status of a login: 201, which comes without a token, 401, as is then everything without a password, or
	// that of a service without sessions.
	Login     int
	Want      []string
	Resources map[string]json.RawMessage // or the status that is answered in place of one

	mu   sync.Mutex
	seen []string
}

func (tr *tree) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uri := r.URL.RequestURI()
	if trimmed := strings.TrimRight(uri, "/"); trimmed != "" {
		uri = trimmed
	}
	tr.mu.Lock()
	tr.seen = append(tr.seen, r.Method+" "+uri)
	tr.mu.Unlock()
	_, _, withPassword := r.BasicAuth()
	body, ok := tr.Resources[uri]
	status, err := strconv.Atoi(string(body))
	switch {
	case tr.Login == http.StatusUnauthorized && !withPassword && uri != "/redfish/v1":
		unauthorized(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(uri, "/Sessions"):
		w.WriteHeader(tr.Login)
	case !ok || r.Method != http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case err == nil:
		w.WriteHeader(status)
	default:
		bmctest.JSON(w, http.StatusOK, body)
	}
}

// found is what a client makes of a service, a line for each thing.
func found(ctx context.Context, c *bmc.Client) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if m, err := c.Manager(ctx); err != nil {
		say("manager: %s", said(err))
	} else {
		say("manager %s model=%s firmware=%s mac=%s host=%s", m.URI, m.Model, m.FirmwareVersion, m.MACAddress, m.HostName)
	}
	uris, err := c.SystemURIs(ctx)
	if err != nil {
		say("systems: %s", said(err))
	}
	var inventories []string
	for _, uri := range uris {
		s, err := c.System(ctx, uri)
		if err != nil {
			say("system %s: %s", uri, said(err))
			continue
		}
		targets, server := s.Boot.Targets, "no server"
		if len(targets) == 0 && s.Boot.Target != "" {
			targets = []string{s.Boot.Target}
		}
		if s.IsServer() {
			server = "server"
		}
		say("system %s uuid=%s power=%s boot=%s %s", uri, s.UUID, s.PowerState, strings.Join(targets, ","), server)
		inventories = append(inventories, inventory(ctx, c, uri))
	}
	lines = append(lines, inventories...)
	versions, err := c.Firmware(ctx)
	if err != nil && bmc.KindOf(err) != bmc.KindRejected {
		say("firmware: %s", said(err))
	}
	for _, f := range versions {
		say("firmware %s %s", f.Name, f.Version)
	}
	return lines
}

// said is the part of an error that does not name the request.
func said(err error) string {
	e, ok := errors.AsType[*bmc.Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.StatusCode != 0:
		return strconv.Itoa(e.StatusCode)
	}
	return e.Message
}

func inventory(ctx context.Context, c *bmc.Client, uri string) string {
	inv, err := c.Inventory(ctx, uri)
	if err != nil {
		return fmt.Sprintf("inventory %s: %s", uri, said(err))
	}
	var interfaces, storage []string
	for _, i := range inv.Interfaces {
		interfaces = append(interfaces, i.MACAddress)
	}
	for _, s := range inv.Storage {
		storage = append(storage, fmt.Sprintf("%s:%d/%d", s.Name, len(s.Drives), len(s.Volumes)))
	}
	line := fmt.Sprintf("inventory %s memory=%dGiB processors=%d interfaces=%s storage=%s",
		uri, inv.MemoryBytes>>30, len(inv.Processors), strings.Join(interfaces, ","), strings.Join(storage, ","))
	if len(inv.Missing) > 0 {
		line += " missing=" + strings.Join(inv.Missing, ",")
	}
	return line
}

// TestTrees inspects services that are as odd as those of simulators, and of standards bodies, are: written here, each
// with peculiarities that were met there.
func TestTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/trees/*.json")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d trees, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tr := &tree{}
			if err := json.Unmarshal(text, tr); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(tr)
			t.Cleanup(server.Close)
			address := server.Listener.Addr().(*net.TCPAddr)
			c := bmc.NewClient(bmc.Endpoint{Scheme: "http", Host: address.IP.String(), Port: address.Port},
				bmc.Credentials{Username: bmctest.Username, Password: bmctest.Password}, bmc.Options{})
			if diff := cmp.Diff(tr.Want, found(t.Context(), c)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tr.About, diff)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			changes := slices.DeleteFunc(tr.seen, func(r string) bool { return strings.HasPrefix(r, "GET ") })
			if diff := cmp.Diff([]string{"POST /redfish/v1/SessionService/Sessions"}, changes); diff != "" {
				t.Errorf("what was sent beside requests to read (-want +got):\n%s", diff)
			}
		})
	}
}
