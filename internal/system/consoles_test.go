package system

import (
	"strings"
	"testing"
)

// TestRecordedConsolesNeedAReader: what is recorded is read at the operator address.
func TestRecordedConsolesNeedAReader(t *testing.T) {
	const flag = "--record-consoles"
	if _, err := checked(t, "--data-dir", t.TempDir(), flag, "--operator-address="); err == nil || !strings.Contains(err.Error(), flag+": needs --operator-address") {
		t.Errorf("without an operator address: %v", err)
	}
	for _, args := range [][]string{{flag, "--operator-address=127.0.0.1:0"}, {"--operator-address="}} {
		if _, err := checked(t, append(args, "--data-dir", t.TempDir())...); err != nil && strings.Contains(err.Error(), flag) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
