package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// arrows says what of this module a package may import. What is not listed may not.
var arrows = map[string][]string{
	"session":               {},
	"detect":                {"session"},
	"store":                 {"session"},
	"runner":                {"session", "detect", "runner/tmux", "runner/talk", "runner/appserver", "runner/claudejson"},
	"runner/tmux":           {"session", "detect"},
	"runner/talk":           {"session"},
	"runner/appserver":      {"session", "runner/talk"},
	"runner/claudejson":     {"session", "runner/talk"},
	"desk":                  {"session", "detect", "store"},
	"pilot":                 {"session", "desk"},
	"views":                 {},
	"static":                {},
	"web/pane":              {},
	"web/markdown":          {"web/pane"},
	"web/push":              {"session", "store"},
	"web/push/pushtest":     {"store", "web/push"}, // for tests
	"web/licences":          {},
	"web/licences/generate": {},
	"web":                   {"session", "desk", "store", "views", "static", "web/licences", "web/pane", "web/markdown", "web/push"},
	"cmd/console":           {"session", "detect", "store", "runner", "desk", "pilot", "web"},
}

// foreign are packages that only one room may know, wherever they are reached from.
var foreign = map[string][]string{
	"github.com/labstack/echo/v4": {"web", "cmd/console"},
	"modernc.org/sqlite":          {"store", "desk", "pilot", "web", "web/push", "web/push/pushtest", "cmd/console"},
	"github.com/a-h/templ":        {"views", "web", "cmd/console"},
	"github.com/spf13/cobra":      {"cmd/console"},

	"github.com/anthropics/anthropic-sdk-go": {"pilot", "cmd/console"},
	"github.com/openai/openai-go/v3":         {"pilot", "cmd/console"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

// The arrows of the packages: cmd → web → desk → detect, store → session;
// web → views; pilot → desk; runner → detect, session.
func TestArrows(t *testing.T) {
	const module = "signalbox/"
	for _, p := range list(t, module+"...") {
		room := strings.TrimPrefix(p.ImportPath, module)
		if room == "e2e" || strings.HasPrefix(room, "e2e/") {
			continue
		}
		allowed, known := arrows[room]
		if !known {
			t.Errorf("%s has no arrows: say in this test what it may import", room)
			continue
		}
		for _, other := range p.Imports {
			if own, ok := strings.CutPrefix(other, module); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", room, own)
			}
		}
		for library, rooms := range foreign {
			if slices.Contains(p.Deps, library) && !slices.Contains(rooms, room) {
				t.Errorf("%s reaches %s", room, library)
			}
		}
	}
}

// The words need nothing but the standard library, and the detectors no machine.
func TestThePureRooms(t *testing.T) {
	for _, p := range list(t, "-deps", "signalbox/session") {
		if !p.Standard && p.ImportPath != "signalbox/session" {
			t.Errorf("session reaches %s", p.ImportPath)
		}
	}
	for room, never := range map[string][]string{
		"session": {"net", "net/http", "os", "os/exec", "log", "log/slog", "context", "database/sql"},
		"detect":  {"net", "net/http", "os", "os/exec", "log", "log/slog", "context", "io/fs", "math/rand", "math/rand/v2", "crypto/rand"},
	} {
		for _, p := range list(t, "signalbox/"+room) {
			for _, i := range p.Imports {
				if slices.Contains(never, i) {
					t.Errorf("%s imports %s", room, i)
				}
			}
		}
		for _, call := range clockCalls(t, filepath.Join("..", "..", room)) {
			t.Errorf("%s asks the clock at %s", room, call)
		}
	}
}

// clockCalls are the places in a folder's code that read the clock or sleep.
func clockCalls(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no code in %s: %v", dir, err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker"}, s.Sel.Name) {
				found = append(found, set.Position(s.Pos()).String())
			}
			return true
		})
	}
	return found
}
