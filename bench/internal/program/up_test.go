package program

import (
	"maps"
	"testing"
)

func TestReadyLine(t *testing.T) {
	got, err := readyLine(`{"api":"https://127.0.0.1:6443","kubeconfig":"/data/kubeconfig","servers":3}`)
	want := map[string]string{"api": "https://127.0.0.1:6443", "kubeconfig": "/data/kubeconfig", "servers": "3"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := readyLine("farrier is ready"); err == nil {
		t.Error("a line that is no JSON object is read as one")
	}
}
