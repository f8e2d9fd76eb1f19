package architecture

import (
	"go/ast"
	"path"
	"regexp"
	"strconv"
	"testing"
)

// majorVersion matches the last element of an import path that is a major version: the package is named by the element before it.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// TestNoImportIsShadowed wants a name to mean one thing in a file: no variable, parameter or constant is called like a package that the file imports.
func TestNoImportIsShadowed(t *testing.T) {
	for _, s := range readSources(t) {
		if s.test() || s.generated() {
			continue
		}
		fset, file := s.parse(t)
		imported := map[string]bool{}
		for _, spec := range file.Imports {
			imported[importName(spec)] = true
		}
		declared := declarations(file)
		ast.Inspect(file, func(n ast.Node) bool {
			if structure, ok := n.(*ast.StructType); ok { // a field shadows nothing
				for _, f := range structure.Fields.List {
					for _, name := range f.Names {
						delete(declared, name)
					}
				}
			}
			return true
		})
		for id := range declared {
			if imported[id.Name] && id.Name != "_" {
				t.Errorf("%s: %s is also the name of a package that this file imports", fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// declarations returns the identifiers at which a file declares variables, parameters, constants and fields.
func declarations(file *ast.File) map[*ast.Ident]bool {
	declared := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && id.Obj.Pos() == id.Pos() && (id.Obj.Kind == ast.Var || id.Obj.Kind == ast.Con) {
			declared[id] = true
		}
		return true
	})
	return declared
}

// importName returns the name that an import has in its file, taken from its path where the file gives none.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	if base := path.Base(p); !majorVersion.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(p))
}
