package architecture

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// logKeys is the vocabulary of log lines: key → what its value is. A new key needs a line here, so that one thing does not get
// two names. internal/program/logging/doc.go has the rules.
var logKeys = map[string]string{
	"address":            "IP address of a peer or a listener, with its port if it has one",
	"api":                "URL of the Kubernetes API",
	"assignment":         "namespace/name of an Assignment",
	"attempt":            "number of an attempt, or ID of a boot attempt",
	"bmc":                "name or address of a BMC",
	"bmcs":               "limits for BMCs",
	"boot":               "number of a boot of a simulated machine",
	"bootConfiguration":  "namespace/name of a boot configuration",
	"bootConfigurations": "several of them",
	"bootServer":         "name of a boot server, as its certificate says",
	"bytes":              "number of bytes",
	"claim":              "namespace/name of a ServerClaim",
	"cleanup":            "how servers are cleaned",
	"clients":            "which clients a limit is for",
	"command":            "ID of a command to a BMC",
	"condition":          "type of a condition",
	"config":             "ID of a config",
	"connections":        "number of connections",
	"count":              "number of things, where no other key names them",
	"delivery":           "kind of file that a machine fetches",
	"digest":             "digest of a blob",
	"disk":               "path of a disk",
	"endpoint":           "name of an Endpoint",
	"error":              "an error, as a value",
	"expires":            "end of a certificate's validity",
	"failures":           "number of failures in a row",
	"file":               "path of a local file",
	"flag":               "the flag to change",
	"set":                "the flag with a value that ends what the line warns of",
	"image":              "reference of an OCI image",
	"instance":           "process of a boot server",
	"kind":               "kind of an object or a command",
	"lease":              "name of a Lease",
	"limit":              "limit of memory, in bytes",
	"link":               "name of a network interface",
	"mac":                "MAC address",
	"model":              "manufacturer and product of a machine",
	"machines":           "limits for machines",
	"manager":            "address of a manager",
	"managers":           "addresses of managers",
	"messages":           "how many messages wait for a manager",
	"message":            "a sentence for people, such as that of a condition",
	"method":             "how a disk is wiped",
	"minor":              "minor version of the boot stream",
	"mode":               "cleanup mode that was ordered",
	"name":               "name of an object whose kind varies",
	"names":              "names in a certificate",
	"namespace":          "a namespace",
	"network":            "a CIDR",
	"object":             "namespace/name of an object whose kind varies",
	"openFiles":          "limit of open files",
	"operators":          "limits for operators",
	"part":               "part of a BMC's inventory",
	"path":               "path of a request",
	"perAddress":         "limit for one address",
	"percent":            "share in percent",
	"query":              "query of a request",
	"reason":             "reason of a condition or a typed error",
	"record":             "name of a machine record",
	"records":            "how many records there are",
	"report":             "kind of a report of the probe",
	"requests":           "what is throttled: requests to the API or the BMC",
	"result":             "how a boot ended",
	"retryAfter":         "time until the next attempt",
	"retryAt":            "time of the next attempt",
	"since":              "time since when something holds",
	"seconds":            "duration in seconds",
	"selector":           "index and value by which objects are listed",
	"serial":             "serial number of a disk or a machine",
	"server":             "name of a Server",
	"shard":              "number of a shard of BMCs, from 0",
	"site":               "site of a boot server",
	"state":              "state of a Server or a command",
	"status":             "HTTP status",
	"suppressed":         "number of like lines that were not logged",
	"system":             "URI of a system at its BMC",
	"systemUUID":         "UUID of a machine",
	"total":              "limit for all addresses",
	"url":                "base URL of a server of ours",
	"user":               "name of a person or a program, as the Kubernetes API knows it",
	"version":            "version of Farrier",
}

// properNames may begin a log message, which otherwise begins in lower case.
var properNames = []string{"BMC", "BMCs", "Kubernetes", "LLDP", "TLS", "API", "ServerClaim", "Server", "UKI", "OCI", "DHCP", "TFTP"}

// forwarders hand on what libraries log, and choose neither messages nor keys.
var forwarders = []string{"internal/controlplane/logging.go", "internal/program/logging/"}

// logCall is one call of a logger.
type logCall struct {
	at      token.Position
	message ast.Expr
	pairs   []ast.Expr
	spread  bool // the pairs end with a slice
}

// loggerText matches what calls of a logger are made on.
var loggerText = regexp.MustCompile(`(?i)(^|\.)(logger|log)(\(\))?$|(FromContext|LoggerFrom)\([^()]*\)$|\.V\(\d+\)$|\.WithValues\(.*\)$|\.WithName\(.*\)$`)

// logCalls are the calls of Info, Error and WithValues on a logger in a file.
func logCalls(fset *token.FileSet, file *ast.File, text []byte) (calls []logCall) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on := string(text[fset.Position(method.X.Pos()).Offset:fset.Position(method.X.End()).Offset])
		if !loggerText.MatchString(on) {
			return true
		}
		first := map[string]int{"Info": 0, "Error": 1, "WithValues": -1}
		at, known := first[method.Sel.Name]
		if !known || len(call.Args) < at+1 {
			return true
		}
		c := logCall{at: fset.Position(call.Pos()), pairs: call.Args[at+1:], spread: call.Ellipsis.IsValid()}
		if at >= 0 {
			c.message = call.Args[at]
		}
		calls = append(calls, c)
		return true
	})
	return calls
}

// problems are the rules that a call breaks.
func (c logCall) problems() (found []string) {
	if c.message != nil {
		if text, ok := constant(c.message); !ok {
			found = append(found, "the message is not a constant: put what varies into keys")
		} else if p := messageProblem(text); p != "" {
			found = append(found, p)
		}
	}
	for i, e := range c.pairs {
		if i%2 == 1 {
			if errorText(e) {
				found = append(found, "err.Error(): give the error itself to the key error")
			}
			continue
		}
		if c.spread && i == len(c.pairs)-1 {
			break
		}
		key, ok := constant(e)
		if !ok {
			found = append(found, "a key is not a constant")
			continue
		}
		if _, known := logKeys[key]; !known {
			found = append(found, "key "+strconv.Quote(key)+" is not in the vocabulary")
		}
	}
	return found
}

func messageProblem(text string) string {
	word, _, _ := strings.Cut(text, " ")
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case text == "":
		return "the message is empty"
	case unicode.IsUpper(first) && !slices.Contains(properNames, strings.TrimRight(word, ",:;'s")) && !slices.Contains(properNames, word):
		return "the message " + strconv.Quote(text) + " begins with a capital"
	case strings.HasSuffix(text, "."), strings.HasSuffix(text, ":"), strings.HasSuffix(text, "!"):
		return "the message " + strconv.Quote(text) + " ends with a mark"
	}
	return ""
}

// constant is the value of a string literal, or of a concatenation of them.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	case *ast.Ident:
		if e.Obj != nil && e.Obj.Kind == ast.Con {
			if spec, ok := e.Obj.Decl.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				return constant(spec.Values[0])
			}
		}
	}
	return "", false
}

// errorText reports whether an expression is err.Error().
func errorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "Error" && len(call.Args) == 0
}

func TestLogs(t *testing.T) {
	checked := 0
	for _, s := range readSources(t) {
		shipped := strings.HasPrefix(s.path, "internal/") || strings.HasPrefix(s.path, "cmd/")
		forwards := slices.ContainsFunc(forwarders, func(p string) bool { return strings.HasPrefix(s.path, p) })
		if !shipped || forwards || s.test() || s.generated() {
			continue
		}
		fset, file := s.parse(t)
		for _, call := range logCalls(fset, file, s.text) {
			checked++
			for _, p := range call.problems() {
				t.Errorf("%s: %s", call.at, p)
			}
		}
	}
	if checked < 50 {
		t.Errorf("found %d calls of loggers only: the test no longer sees them", checked)
	}
}

// loggersOfReconcilers returns the types of a package that have a method Reconcile and keep a logger. They would log without the
// controller and the object that the logger of a reconcile's context names.
func loggersOfReconcilers(files []*ast.File) (found []string) {
	reconcilers := map[string]bool{}
	keep := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Reconcile" {
					reconcilers[baseType(n.Recv.List[0].Type)] = true
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && slices.ContainsFunc(s.Fields.List, isLogger) {
					keep[n.Name.Name] = true
				}
			}
			return true
		})
	}
	for name := range keep {
		if reconcilers[name] {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// baseType returns the name of the type of a receiver.
func baseType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseType(e.X)
	case *ast.IndexExpr:
		return baseType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// isLogger reports whether a field has the type logr.Logger.
func isLogger(f *ast.Field) bool {
	s, ok := f.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "logr" && s.Sel.Name == "Logger"
}

// TestReconcilersLogThroughTheContext: no reconciler has a logger of its own.
func TestReconcilersLogThroughTheContext(t *testing.T) {
	packages := map[string][]*ast.File{}
	for _, s := range readSources(t) {
		if !strings.HasPrefix(s.path, "internal/controller/") || s.test() || s.generated() {
			continue
		}
		_, file := s.parse(t)
		packages[path.Dir(s.path)] = append(packages[path.Dir(s.path)], file)
	}
	if len(packages) < 20 {
		t.Errorf("found %d packages only: the test no longer sees them", len(packages))
	}
	for dir, files := range packages {
		for _, name := range loggersOfReconcilers(files) {
			t.Errorf("%s: %s has a logger: use log.FromContext(ctx)", dir, name)
		}
	}
}
