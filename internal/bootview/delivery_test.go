package bootview

import "testing"

// TestIsFile: what boot methods record under kinds of their own is what firmware boots.
func TestIsFile(t *testing.T) {
	for kind, want := range map[DeliveryKind]bool{
		DeliveredProgram: false, DeliveredChainload: false, DeliveredScript: false, DeliveredUKI: true, DeliveredArtifact: false, DeliveredIgnition: false,
		ReceivedReport: false, ReceivedBootState: false, "Another": true,
	} {
		if got := kind.IsFile(); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
