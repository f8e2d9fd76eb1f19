package ignition

import (
	"bytes"
	"errors"
	"fmt"

	ignconfig "github.com/coreos/ignition/v2/config"
	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
)

// check returns what Ignition will report about a payload that is served as it is. It reports nothing about what is not an Ignition
// configuration (cloud-init, a script, something of the image's own), or of a specification older than Ignition's parser.
func check(data []byte) (warnings []string) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' || !bytes.Contains(trimmed, []byte(`"ignition"`)) {
		return nil
	}
	_, entries, err := ignconfig.Parse(data)
	fatal, warnings := split(entries)
	switch {
	case err == nil, errors.Is(err, ignerrors.ErrUnknownVersion):
		return warnings
	case len(fatal) > 0:
		return append(prefixed(fatal), warnings...)
	}
	return append(prefixed([]string{redact(err.Error())}), warnings...)
}

func prefixed(problems []string) []string {
	for i, p := range problems {
		problems[i] = fmt.Sprintf("Ignition will refuse it: %s", p)
	}
	return problems
}
