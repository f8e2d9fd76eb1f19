package bmc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check says why an attribute cannot have a value.
func (a Attribute) check(v any) error {
	if a.ReadOnly {
		return errors.New("is read-only")
	}
	switch a.Type {
	case "Enumeration":
		s, ok := v.(string)
		if !ok || len(a.Values) > 0 && !slices.Contains(a.Values, s) {
			return fmt.Errorf("%v is not among %s", v, strings.Join(a.Values, ", "))
		}
	case "Integer":
		return a.checkInteger(v)
	case "Boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%v is neither true nor false", v)
		}
	case "String", "Password":
		s, ok := v.(string)
		if !ok {
			return errors.New("is no text")
		}
		if a.MaxLength > 0 && len(s) > a.MaxLength {
			return fmt.Errorf("has %d characters, at most %d are allowed", len(s), a.MaxLength)
		}
	}
	return nil
}

func (a Attribute) checkInteger(v any) error {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case int:
		n = int64(v)
	default:
		return fmt.Errorf("%v is no whole number", v)
	}
	if a.Low != nil && n < *a.Low || a.High != nil && n > *a.High {
		return fmt.Errorf("%d is outside of what is allowed", n)
	}
	return nil
}
