package ignition

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"github.com/coreos/vcontext/report"
	"go.yaml.in/yaml/v3"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// FormatButane is the value of an ignition Secret's key "format" that asks for
// translation.
const FormatButane = "fcos"

const (
	// MaxSize is the largest payload that Payload takes: a Secret holds no more.
	MaxSize = 1 << 20
	// maxExpanded bounds a Butane document after its YAML aliases are
	// followed, values counted by nodeCost. A few hundred bytes of aliases can otherwise stand for
	// gigabytes.
	maxExpanded = 4 << 20
	// maxNodes bounds the YAML nodes of such a document. Translating one takes up to a
	// third of a millisecond and 60 KiB of garbage, however short it is. A large
	// configuration, with a thousand files, has some 8000.
	maxNodes = 10_000
	// nodeCost is what each YAML node counts besides its text, so that all of them
	// together are as much as a document may be.
	nodeCost = maxExpanded / maxNodes
	// maxReported bounds how much of a report is repeated, which can be fifty times as long as the
	// document.
	maxReported = 8 << 10
)

var (
	// ErrTooLarge reports a payload that is larger than MaxSize, or becomes far
	// larger than that when its YAML aliases are followed.
	ErrTooLarge = errors.New("ignition payload too large")
	// ErrInvalid reports a payload that is not valid Butane.
	ErrInvalid = errors.New("invalid Butane")
)

// Payload returns the bytes that a machine is given for the content of an
// ignition Secret. A format of "fcos" (spaces around it do not count) means
// Butane, which is translated; any other format, and none, leaves data as it
// is, and has Ignition's own parser look at it. Warnings are theirs and never stop a
// delivery.
func Payload(format string, data []byte) (payload []byte, warnings []string, err error) {
	if len(data) > MaxSize {
		return nil, nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(data), MaxSize)
	}
	if strings.TrimSpace(format) != FormatButane {
		return data, check(data), nil
	}
	return translated.of(data)
}

// keptTranslations bounds what is kept of translations: the same text is translated when it is made, and again and again while
// the machine that it is for boots.
const keptTranslations = 256

// translations keeps what Butane made of texts, by their SHA-256.
type translations struct {
	made *bounded.Cache[[sha256.Size]byte, translation]
}

var translated = translations{bounded.NewCache[[sha256.Size]byte, translation](keptTranslations)}

type translation struct {
	payload  []byte
	warnings []string
}

// of returns the translation of data, from memory if it was translated before.
func (t translations) of(data []byte) ([]byte, []string, error) {
	key := sha256.Sum256(data)
	if known, ok := t.made.Get(key); ok {
		return slices.Clone(known.payload), slices.Clone(known.warnings), nil
	}
	if err := checkExpansion(data); err != nil {
		return nil, nil, err
	}
	payload, warnings, err := translate(data)
	if err == nil && len(payload) <= maxKept {
		t.made.Add(key, translation{slices.Clone(payload), slices.Clone(warnings)})
	}
	return payload, warnings, err
}

// maxKept is the size above which a payload is not kept; discovery's are some 2 KiB.
const maxKept = 16 << 10

// translate runs Butane. It is asked for the bare Ignition configuration (Raw)
// and to leave inline contents uncompressed: what a machine gets must be what
// the same input gave before, byte for byte, and a reader of the Secret must
// recognise it. No files directory is given, so "local" is refused.
func translate(data []byte) ([]byte, []string, error) {
	payload, entries, err := config.TranslateBytes(data, common.TranslateBytesOptions{
		TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true},
		Raw:              true,
	})
	fatal, warnings := split(entries)
	if err != nil {
		if len(fatal) > 0 {
			return nil, warnings, fmt.Errorf("%w: %s", ErrInvalid, strings.Join(fatal, "; "))
		}
		return nil, warnings, fmt.Errorf("%w: %s", ErrInvalid, redact(err.Error()))
	}
	return payload, warnings, nil
}

// split separates a report, as far as it is repeated, into what stops a translation and what does not.
func split(entries report.Report) (fatal, warnings []string) {
	var severe, mild excerpt
	for _, entry := range entries.Entries {
		if entry.Kind.IsFatal() {
			severe.add(entry)
		} else {
			mild.add(entry)
		}
	}
	return severe.lines, mild.lines
}

// excerpt is the beginning of a report.
type excerpt struct {
	lines []string
	bytes int
}

func (e *excerpt) add(entry report.Entry) {
	if e.bytes > maxReported {
		return
	}
	text := redact(entry.String())
	if e.bytes += len(text); e.bytes > maxReported {
		text = "and more"
	}
	e.lines = append(e.lines, text)
}

// checkExpansion refuses a document that is no YAML mapping, that contains
// itself, or that grows beyond bounds when its aliases are followed.
func checkExpansion(data []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return fmt.Errorf("%w: %s", ErrInvalid, redact(err.Error()))
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%w: the document is not a YAML mapping", ErrInvalid)
	}
	size, err := make(expansion).size(&document)
	if err != nil {
		return err
	}
	if size > maxExpanded {
		return fmt.Errorf("%w: with its YAML aliases followed it is more than %d bytes, where each of its at most %d values counts %d",
			ErrTooLarge, maxExpanded, maxNodes, nodeCost)
	}
	return nil
}

// expansion holds the expanded size of the nodes seen, so that measuring an
// alias bomb costs no more than its text. A node that is being measured has
// size inProgress.
type expansion map[*yaml.Node]int

const inProgress = -1

// size returns the expanded size of a node; any size above maxExpanded stands
// for all of them, so that sums cannot overflow.
func (e expansion) size(n *yaml.Node) (int, error) {
	switch known, ok := e[n]; {
	case ok && known == inProgress:
		return 0, fmt.Errorf("%w: line %d: an anchor contains itself", ErrInvalid, n.Line)
	case ok:
		return known, nil
	}
	e[n] = inProgress
	total := nodeCost + len(n.Value)
	children := n.Content
	if n.Kind == yaml.AliasNode {
		children = []*yaml.Node{n.Alias}
	}
	for _, child := range children {
		size, err := e.size(child)
		if err != nil {
			return 0, err
		}
		total = min(total+size, maxExpanded+1)
	}
	e[n] = total
	return total, nil
}
