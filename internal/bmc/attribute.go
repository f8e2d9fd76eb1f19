package bmc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse is the value that a text stands for: specs know no types.
func (a Attribute) Parse(text string) (any, error) {
	switch a.Type {
	case "Integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case "Boolean":
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return b, nil
	}
	return text, nil
}

// ShowsAs reports whether a value of a BMC's is what a text stands for.
func ShowsAs(now any, text string) bool {
	switch now := now.(type) {
	case string:
		return now == text
	case bool:
		b, err := strconv.ParseBool(strings.ToLower(text))
		return err == nil && b == now
	case int64:
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && n == now
	}
	return false
}

// Find is what the registry says of an attribute; where there is no registry, what its present value tells.
func (r AttributeRegistry) Find(name string, present map[string]any) (Attribute, bool) {
	if r != nil {
		a, ok := r[name]
		return a, ok
	}
	value, ok := present[name]
	a := Attribute{Name: name, Type: "String", ResetRequired: true}
	switch value.(type) {
	case int64:
		a.Type = "Integer"
	case bool:
		a.Type = "Boolean"
	}
	return a, ok
}

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
