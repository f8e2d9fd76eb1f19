package bootmethod

import (
	"slices"
	"testing"

	"github.com/farrier-dev/farrier/internal/bootview/bootfile"
)

// TestFilesHaveARoute: what firmware fetches by some method is what boot servers, who do not know methods, answer.
func TestFilesHaveARoute(t *testing.T) {
	var files []*bootfile.File
	for _, m := range Methods {
		if m.File != nil {
			files = append(files, m.File)
		}
	}
	if !slices.Equal(files, bootfile.Files) {
		t.Errorf("methods have the files %v, boot servers answer %v", files, bootfile.Files)
	}
}
