package configfile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/farrier-dev/farrier/internal/program/usage"
)

// Short tags of YAML's core schema (YAML 1.2.2 §10.3).
const (
	nullTag  = "!!null"
	boolTag  = "!!bool"
	intTag   = "!!int"
	floatTag = "!!float"
)

// notInFile are the flags that mean something on the command line only.
var notInFile = []string{Flag, "help", "version"}

// tagsOf are the types of YAML that the flags of a type take. Those of other types take any scalar as it is written: a name may look like
// a number.
var tagsOf = map[string][]string{
	"bool":    {boolTag},
	"count":   {intTag},
	"int":     {intTag},
	"int64":   {intTag},
	"uint":    {intTag},
	"float64": {intTag, floatTag},
}

// apply sets the flags of the settings, except those that the command line has set. It returns what is wrong with each setting.
func apply(flags *pflag.FlagSet, settings []setting) (problems []error) {
	typed, filed := values{}, values{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			typed.add(f.Value)
		}
	})
	for _, s := range settings {
		f := flags.Lookup(s.key)
		var err error
		switch {
		case f == nil:
			err = fmt.Errorf("is not a flag of this command%s", usage.Meant(usage.Similar(flags, s.key), "%q"))
		case slices.Contains(notInFile, s.key):
			err = errors.New("can only be set on the command line")
		default:
			err = set(f, s.value, typed.has(f.Value), filed.has(f.Value))
			filed.add(f.Value)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("line %d: key %q: %w", s.line, s.key, err))
		}
	}
	return problems
}

// set gives a flag the value of the file. With precedence of the command line it only checks what can be checked without. With more, another
// name of the flag has brought values, and these are added to them.
func set(f *pflag.Flag, node *yaml.Node, precedence, more bool) error {
	list, takesList := f.Value.(pflag.SliceValue)
	if node.Kind == yaml.SequenceNode && takesList {
		items := make([]string, 0, len(node.Content))
		for i, item := range node.Content {
			text, err := scalar(item, nil)
			if err != nil {
				return fmt.Errorf("value %d: %w", i+1, err)
			}
			items = append(items, text)
		}
		if precedence {
			return nil
		}
		if more {
			items = slices.Concat(list.GetSlice(), items)
		}
		f.Changed = true
		return usage.ValueError(f, fmt.Sprint(items), list.Replace(items))
	}
	text, err := scalar(node, tagsOf[f.Value.Type()])
	switch {
	case errors.Is(err, errType) && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return fmt.Errorf("%q is text, because it is in quotes; write it without them", node.Value)
	case errors.Is(err, errType):
		return usage.ValueError(f, node.Value, err)
	case err != nil:
		return err
	}
	if precedence {
		return nil
	}
	f.Changed = true
	return usage.ValueError(f, text, f.Value.Set(text))
}

// errType says that a value has not the type of its flag.
var errType = errors.New("has the wrong type")

// scalar returns the text of a single value of one of the types; nil: of any.
func scalar(node *yaml.Node, tags []string) (string, error) {
	switch {
	case node.Kind == yaml.SequenceNode:
		return "", errors.New("takes one value, not a list")
	case node.Kind == yaml.MappingNode:
		return "", errors.New("takes a value, not keys and values")
	case node.Kind != yaml.ScalarNode:
		return "", errors.New("takes a value, not an alias")
	case node.Style&yaml.TaggedStyle != 0:
		return "", fmt.Errorf("takes a value without the tag %s", node.Tag)
	case node.ShortTag() == nullTag:
		return "", errors.New(`needs a value; "" is the empty one`)
	case tags != nil && !slices.Contains(tags, node.ShortTag()):
		return "", errType
	}
	return node.Value, nil
}

// values are the variables that flags set: two names of one flag set the same.
type values map[pflag.Value]bool

func (v values) add(value pflag.Value) {
	if reflect.ValueOf(value).Comparable() {
		v[value] = true
	}
}

func (v values) has(value pflag.Value) bool { return reflect.ValueOf(value).Comparable() && v[value] }
