package macprefix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/identity"
)

// maxFileSize bounds a database file. The longest ones in the field have a few
// hundred entries of some 200 bytes.
const maxFileSize = 4 << 20

// Entry says what a BMC is whose MAC address begins with Prefix.
type Entry struct {
	Prefix             string       `yaml:"macPrefix"`
	Manufacturer       string       `yaml:"manufacturer"`
	Protocol           string       `yaml:"protocol"`
	ProtocolScheme     string       `yaml:"protocolScheme"`
	Port               int32        `yaml:"port"`
	Type               string       `yaml:"type"`
	DefaultCredentials []Credential `yaml:"defaultCredentials"`
	Console            Console      `yaml:"console"`
}

// typeBMC is the type of entries that are BMCs; an entry without a type is one too.
const typeBMC = "bmc"

// IsBMC reports whether devices with the prefix are BMCs.
func (e Entry) IsBMC() bool { return e.Type == "" || strings.EqualFold(e.Type, typeBMC) }

// Credential is one user name and password that the vendor ships.
type Credential struct {
	Username string     `yaml:"username"`
	Password bmc.Secret `yaml:"password"`
}

// Console is how the serial console of such a BMC is reached; a zero Type
// means that it is not known.
type Console struct {
	Type string `yaml:"type"`
	Port int32  `yaml:"port"`
}

// Database answers which entry a MAC address belongs to. It never changes
// once it is made, so it may be read from many goroutines.
type Database struct {
	// entries is sorted by length of prefix, longest first.
	entries []Entry
	// vendors says that Lookup goes on among those that ship with Farrier.
	vendors bool
}

// Load reads the file at path. Errors name the file and, where YAML tells it,
// the line.
func Load(path string) (*Database, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("MAC prefix database: %w", err)
	}
	defer f.Close()
	db, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("MAC prefix database %s: %w", path, err)
	}
	return db, nil
}

// Parse reads a database in YAML. Unknown keys are errors: a misspelt one would
// otherwise be a BMC that nobody can log in to.
func Parse(r io.Reader) (*Database, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("larger than %d bytes", maxFileSize)
	}
	var file struct {
		MACPrefixes []located `yaml:"macPrefixes"`
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	entries := make([]Entry, 0, len(file.MACPrefixes))
	for _, l := range file.MACPrefixes {
		e, err := l.entry.canonical()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
		entries = append(entries, e)
	}
	return New(entries...)
}

// New makes a database of entries given in code. The same prefix given twice
// is an error, because which one holds would be an accident of order.
func New(entries ...Entry) (*Database, error) {
	db := &Database{}
	seen := map[string]bool{}
	for _, e := range entries {
		e, err := e.canonical()
		if err != nil {
			return nil, err
		}
		if seen[e.Prefix] {
			return nil, fmt.Errorf("macPrefix %q is given twice", e.Prefix)
		}
		seen[e.Prefix] = true
		db.entries = append(db.entries, e)
	}
	sort.SliceStable(db.entries, func(i, j int) bool {
		return len(db.entries[i].Prefix) > len(db.entries[j].Prefix)
	})
	return db, nil
}

// With returns a database that has the entries of both; those of db win where
// both have a prefix.
func (db *Database) With(entries ...Entry) (*Database, error) {
	all := append([]Entry(nil), db.entries...)
	known := map[string]bool{}
	for _, e := range all {
		known[e.Prefix] = true
	}
	for _, e := range entries {
		if c, err := e.canonical(); err != nil || !known[c.Prefix] {
			all = append(all, e)
		}
	}
	with, err := New(all...)
	if err != nil {
		return nil, err
	}
	with.vendors = db.vendors
	return with, nil
}

// Lookup returns the entry with the longest prefix of mac. Every entry comes before what ships with Farrier, however short its prefix is.
func (db *Database) Lookup(mac string) (Entry, bool) {
	digits := identity.MACDigits(mac)
	for _, e := range db.entries {
		if strings.HasPrefix(digits, e.Prefix) {
			return e, true
		}
	}
	if !db.vendors {
		return Entry{}, false
	}
	prefix, name := vendorOf(digits)
	if name == "" {
		return Entry{}, false
	}
	e, err := Entry{Prefix: prefix, Manufacturer: name}.canonical()
	return e, err == nil
}

// Len returns the number of prefixes known.
func (db *Database) Len() int { return len(db.entries) }

// canonical checks an entry and fills in what it leaves open.
func (e Entry) canonical() (Entry, error) {
	spelled := e.Prefix
	e.Prefix = identity.MACDigits(e.Prefix)
	if e.Prefix == "" || len(e.Prefix) > 12 || strings.Trim(e.Prefix, "0123456789abcdef") != "" {
		return e, fmt.Errorf("macPrefix %q: want 1 to 12 hexadecimal digits", spelled)
	}
	if e.Protocol == "" {
		e.Protocol = "Redfish"
	}
	switch e.ProtocolScheme {
	case "":
		e.ProtocolScheme = "https"
	case "http", "https":
	default:
		return e, fmt.Errorf("macPrefix %q: protocolScheme %q: want http or https", spelled, e.ProtocolScheme)
	}
	if e.Port < 0 || e.Port > 65535 {
		return e, fmt.Errorf("macPrefix %q: port %d is out of range", spelled, e.Port)
	}
	if e.Port == 0 {
		e.Port = map[string]int32{"http": 80, "https": 443}[e.ProtocolScheme]
	}
	for i, c := range e.DefaultCredentials {
		if c.Username == "" {
			return e, fmt.Errorf("macPrefix %q: defaultCredentials[%d].username is empty", spelled, i)
		}
	}
	return e, nil
}

// located keeps the line of an entry, for errors that are found after parsing.
type located struct {
	line  int
	entry Entry
}

func (l *located) UnmarshalYAML(node *yaml.Node) error {
	l.line = node.Line
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: an entry of macPrefixes must be a mapping", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !knownKeys[key.Value] {
			return fmt.Errorf("line %d: unknown key %q", key.Line, key.Value)
		}
	}
	return node.Decode(&l.entry)
}

// knownKeys repeats the keys of Entry, because a decoder with KnownFields
// forgets that setting below a custom unmarshaller.
var knownKeys = map[string]bool{
	"macPrefix": true, "manufacturer": true, "protocol": true, "protocolScheme": true,
	"port": true, "type": true, "defaultCredentials": true, "console": true,
}
