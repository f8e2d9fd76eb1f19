package bmc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmctest"
)

// formatted is v in every way that it could end up in a log.
func formatted(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		args := []any{v, v}[:strings.Count(verb, "%")]
		fmt.Fprintf(&b, verb+"\n", args...)
	}
	fmt.Fprintln(&b, v, []any{v}, map[string]any{"key": v}, &v, struct{ Field any }{v})
	j, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	b.Write(j)
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("message", "value", v, "error", fmt.Errorf("wrapped: %v", v))
	}
	return b.String()
}

func TestSecretsAreNotShown(t *testing.T) {
	s := bmctest.New(t)
	c := client(t, s)
	if _, err := c.System(t.Context(), bmctest.System); err != nil { // now it has a token too
		t.Fatal(err)
	}
	_, refused := bmc.NewClient(s.Endpoint(), bmc.Credentials{Username: "admin", Password: "marker-wrong"}, bmc.Options{}).
		Systems(t.Context())
	if refused == nil {
		t.Fatal("a wrong password was accepted")
	}
	credentials := s.Credentials()
	for name, v := range map[string]any{
		"Secret":                 bmc.Secret("marker-1"),
		"pointer to Secret":      new(credentials.Password),
		"Credentials":            credentials,
		"pointer to Credentials": &credentials,
		"struct with them": struct {
			Key         string
			Credentials bmc.Credentials
		}{"k", credentials},
		"slice":   []bmc.Credentials{credentials},
		"map":     map[string]bmc.Secret{"a": "marker-2"},
		"Client":  c,
		"pointer": struct{ Client *bmc.Client }{c},
		"error":   refused,
	} {
		if out := formatted(t, v); strings.Contains(out, "marker") {
			t.Errorf("%s shows a secret:\n%s", name, out)
		}
	}
	if got := fmt.Sprint(credentials.Password); got != "[redacted]" {
		t.Errorf("Sprint: %q", got)
	}
	if got := credentials.Password.Reveal(); got != bmctest.Password {
		t.Errorf("Reveal: %q", got)
	}
}

// A BMC that repeats what it was sent does not make us publish it.
func TestEchoedSecretsAreNotShown(t *testing.T) {
	s := bmctest.New(t)
	s.Handle("POST /redfish/v1/SessionService/Sessions", echo())
	_, err := client(t, s).System(t.Context(), bmctest.System)
	e, ok := errors.AsType[*bmc.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	if strings.Contains(e.Error(), "marker") || !strings.Contains(e.Error(), "[redacted]") {
		t.Errorf("error %q", e)
	}
}
