package system

import (
	"fmt"

	"github.com/farrier-dev/farrier/internal/controller/metadata"
)

// checkMetadata reads what every machine is told of itself.
func (s *settings) checkMetadata() (err error) {
	if s.StaticMetadata == "" {
		return nil
	}
	if s.static, err = metadata.ReadStatic(s.StaticMetadata); err != nil {
		return fmt.Errorf("--static-metadata: %w", err)
	}
	return nil
}
