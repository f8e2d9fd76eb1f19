package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"
)

// Spec is one fault as it is asked for. Exactly one of BMCs and Share says whom
// it strikes.
type Spec struct {
	Kind Kind `json:"kind" yaml:"kind"`
	// BMCs are numbers from 1, as in the names of BMCs: 3 is sim-0003.
	BMCs []int `json:"bmcs,omitempty" yaml:"bmcs"`
	// Share of all BMCs, which the seed chooses.
	Share float64 `json:"share,omitempty" yaml:"share"`
	// Path is a regular expression that the path of a request has to match.
	Path string `json:"path,omitempty" yaml:"path"`
	// Chance is the share of the requests that are struck; 0: all.
	Chance float64 `json:"chance,omitempty" yaml:"chance"`
	Value  string  `json:"value,omitempty" yaml:"value"`
	// After is when the fault begins, counted from when it was set; For is how long it
	// lasts, 0: until it is cleared.
	After Duration `json:"after,omitzero" yaml:"after"`
	For   Duration `json:"for,omitzero" yaml:"for"`
}

// FieldError is what is wrong with one field of a Spec.
type FieldError struct {
	Field string // as in JSON and YAML
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// compiled is a Spec that was checked.
type compiled struct {
	Spec
	value Value
	path  *regexp.Regexp
}

// maxPath bounds the expressions that every request is matched with.
const maxPath = 1024

// compile checks a spec for a rack of that many BMCs; 0: of any size.
func (s Spec) compile(bmcs int) (compiled, error) {
	c := compiled{Spec: s}
	info, ok := lookup(s.Kind)
	if !ok {
		return c, &FieldError{"kind", fmt.Errorf("%q is not known; 'farrier sim fault kinds' lists them", s.Kind)}
	}
	var err error
	if c.value, err = info.value(s.Value); err != nil {
		return c, &FieldError{"value", err}
	}
	if (len(s.BMCs) > 0) == (s.Share != 0) {
		return c, &FieldError{"bmcs", errors.New("want either bmcs or share")}
	}
	for _, n := range s.BMCs {
		if n < 1 || bmcs > 0 && n > bmcs {
			return c, &FieldError{"bmcs", fmt.Errorf("%d: there is no such BMC", n)}
		}
	}
	for field, share := range map[string]float64{"share": s.Share, "chance": s.Chance} {
		if !(share >= 0 && share <= 1) {
			return c, &FieldError{field, fmt.Errorf("%v: want a number from 0 to 1", share)}
		}
	}
	if s.After < 0 || s.For < 0 {
		return c, &FieldError{"after", errors.New("after and for must not be negative")}
	}
	return c, c.compilePath(info)
}

func (c *compiled) compilePath(info Info) error {
	if !info.requests && (c.Path != "" || c.Chance != 0) {
		return &FieldError{"path", fmt.Errorf("%s is not about single requests: it has neither path nor chance", c.Kind)}
	}
	if len(c.Path) > maxPath {
		return &FieldError{"path", fmt.Errorf("longer than %d bytes", maxPath)}
	}
	if c.Path == "" {
		return nil
	}
	var err error
	if c.path, err = regexp.Compile(c.Path); err != nil {
		return &FieldError{"path", err}
	}
	return nil
}

// Check says what is wrong with a spec, for a rack of any size.
func (s Spec) Check() error {
	_, err := s.compile(0)
	return err
}

// Duration is written as time.ParseDuration reads it.
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return errors.New(`want a duration in quotes, such as "50ms"`)
	}
	return d.parse(s)
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return errors.New("want a duration such as 50ms")
	}
	return d.parse(node.Value)
}

func (d *Duration) parse(s string) error {
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q: want a duration such as 50ms", s)
	}
	*d = Duration(parsed)
	return nil
}
