package probe

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTrusting: whoever has signed the receiver's certificate is believed, and nobody else is sent anything.
func TestTrusting(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := Trusting(authority)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	client.CloseIdleConnections()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if _, err := Trusting([]byte("x")); err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Errorf("no certificate: %v", err)
	}
	if _, err := http.Get(server.URL); err == nil {
		t.Error("the system trusts it: the test proves nothing")
	}
}
