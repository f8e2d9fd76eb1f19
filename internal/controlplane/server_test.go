package controlplane

import (
	"errors"
	"net"
	"testing"
)

// TestCloseListener: the listener is closed unless an API server still serves at it.
func TestCloseListener(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	for _, tc := range []struct {
		name string
		api  *apiServer
		open bool
	}{
		{"none was made", nil, false},
		{"one that never ran", &apiServer{}, false},
		{"one that has ended", &apiServer{done: ended}, false},
		{"one that did not stop in time", &apiServer{done: make(chan struct{})}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			listener, err := listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := &Server{api: tc.api}
			if err := errors.Join(s.closeListener(listener), s.closeListener(listener)); err != nil {
				t.Error(err)
			}
			if err := listener.Close(); errors.Is(err, net.ErrClosed) == tc.open {
				t.Errorf("close of the listener: %v", err)
			}
		})
	}
}
