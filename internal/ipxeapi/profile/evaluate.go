package profile

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// value is a text, or true or false.
type value struct {
	text          string
	isBool, truth bool
}

func (v value) String() string {
	if v.isBool {
		return fmt.Sprint(v.truth)
	}
	return v.text
}

// is reports what a value means to a decision: a text is true unless it is empty.
func (v value) is() bool { return v.truth || !v.isBool && v.text != "" }

// function is what a template can call.
type function struct {
	// least and most are how many arguments it takes; most 0: any number.
	least, most int
	// text says that all arguments are texts, and decides that the result is true or false.
	text, decides bool
	do            func(args []value) value
	// until, of and and or, is the argument that is the result, whichever come after it.
	until func(value) bool
}

// functions are all that a template can call. What formats or repeats by numbers that it is given is left out: a script is short
// and costs little, whoever wrote it. None gives more than three times what it is given.
var functions = map[string]*function{
	"quote":     ofText(func(s string) string { return quote(s) }),
	"lower":     ofText(strings.ToLower),
	"upper":     ofText(strings.ToUpper),
	"trim":      ofText(strings.TrimSpace),
	"urlquery":  ofText(url.QueryEscape),
	"default":   {least: 2, most: 2, text: true, do: func(a []value) value { return value{text: orElse(a[1].text, a[0].text)} }},
	"eq":        {least: 1, text: true, decides: true, do: func(a []value) value { return boolean(slices.Contains(a[1:], a[0])) }},
	"ne":        {least: 2, most: 2, text: true, decides: true, do: func(a []value) value { return boolean(a[0] != a[1]) }},
	"hasPrefix": {least: 2, most: 2, text: true, decides: true, do: func(a []value) value { return boolean(strings.HasPrefix(a[1].text, a[0].text)) }},
	"not":       {least: 1, most: 1, decides: true, do: func(a []value) value { return boolean(!a[0].is()) }},
	"and":       {least: 1, until: func(v value) bool { return !v.is() }},
	"or":        {least: 1, until: value.is},
}

func ofText(f func(string) string) *function {
	return &function{least: 1, most: 1, text: true, do: func(a []value) value { return value{text: f(a[0].text)} }}
}

func boolean(b bool) value { return value{isBool: true, truth: b} }

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func (l literal) eval(r *rendering) (value, error) { return value(l), r.step() }

func (l label) eval(r *rendering) (value, error) {
	text := r.label(string(l))
	if err := r.spend(len(text)); err != nil {
		return value{}, err
	}
	return value{text: text}, r.step()
}

func (l link) eval(r *rendering) (value, error) {
	text := r.url(string(l))
	if err := r.spend(len(text)); err != nil {
		return value{}, err
	}
	return value{text: text}, r.step()
}

func (c call) eval(r *rendering) (value, error) {
	if err := r.step(); err != nil {
		return value{}, err
	}
	if c.until != nil {
		return c.first(r)
	}
	args, given := make([]value, len(c.args)), 0
	for i, arg := range c.args {
		var err error
		if args[i], err = arg.eval(r); err != nil {
			return value{}, err
		}
		if c.text && args[i].isBool {
			return value{}, scriptError{errNoText(c.name)}
		}
		given += len(args[i].text)
	}
	if err := r.spend(given); err != nil {
		return value{}, err
	}
	result := c.do(args)
	if len(result.text) > MaxValue {
		return value{}, scriptError{fmt.Errorf("%s gives more than %d bytes", c.name, MaxValue)}
	}
	return result, r.spend(len(result.text))
}

// first is and and or: the arguments that come after the one that decides are not looked at.
func (c call) first(r *rendering) (v value, err error) {
	for _, arg := range c.args {
		if v, err = arg.eval(r); err != nil || c.until(v) {
			return v, err
		}
	}
	return v, nil
}

// run writes statements.
func (r *rendering) run(statements []statement) error {
	for _, s := range statements {
		if err := r.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *rendering) statement(s statement) error {
	switch {
	case s.insert != nil:
		v, err := s.insert.eval(r)
		if err != nil {
			return err
		}
		return r.write(v.String())
	case s.test != nil:
		v, err := s.test.eval(r)
		if err != nil {
			return err
		}
		if v.is() {
			return r.run(s.then)
		}
		return r.run(s.otherwise)
	}
	return r.write(s.text)
}
