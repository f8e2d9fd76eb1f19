package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestLogRules: the test sees what breaks a rule, and nothing else.
func TestLogRules(t *testing.T) {
	for line, want := range map[string]string{
		`r.Logger.Info("claim has a server", "claim", name)`:               "",
		`log.FromContext(ctx).V(1).Info("BMC answers again", "bmc", name)`: "",
		`s.cfg.Logger.Error(err, "listener ended", "address", a.String())`: "",
		`r.Logger.Info("unknown machine", said...)`:                        "",
		`http.Error(w, "Not Found", 404)`:                                  "",
		`r.Logger.Info("Claim has a server")`:                              "begins with a capital",
		`r.Logger.Info("server is " + state)`:                              "not a constant",
		`r.Logger.Info(fmt.Sprintf("server is %s", state))`:                "not a constant",
		`r.Logger.Info("claim waits.")`:                                    "ends with a mark",
		`r.log().V(1).Info("claim waits", "because", why)`:                 `key "because" is not in the vocabulary`,
		`r.Logger.WithValues("who", name)`:                                 `key "who" is not in the vocabulary`,
		`r.Logger.Info("claim waits", "error", err.Error())`:               "give the error itself",
		`r.Logger.Error(err, "Claim waits")`:                               "begins with a capital",
	} {
		text := []byte("package p\n\nfunc f() {\n\t" + line + "\n}\n")
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, call := range logCalls(fset, file, text) {
			found = append(found, call.problems()...)
		}
		if got := strings.Join(found, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", line, got, want)
		}
	}
}

// TestLoggersOfReconcilers: the test sees a reconciler with a logger, and leaves other types alone.
func TestLoggersOfReconcilers(t *testing.T) {
	text := `package p

type A struct{ Logger logr.Logger }
type B struct{ Logger logr.Logger }
type C struct{ Workers int }
type D[T any] struct{ log logr.Logger }

func (a *A) Reconcile() {}
func (b *B) Run()       {}
func (c *C) Reconcile() {}
func (d D[T]) Reconcile() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(loggersOfReconcilers([]*ast.File{file}), " "); got != "A D" {
		t.Errorf("found %q, want A and D", got)
	}
}
