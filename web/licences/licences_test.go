package licences

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Every module whose code is in the console is named, in its version.
func TestTheListIsComplete(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "signalbox/cmd/console").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' })
	slices.Sort(linked)
	linked = slices.Compact(linked)
	var named []string
	for _, l := range All() {
		if l.Module != "Go" && l.Module != "idiomorph" {
			named = append(named, l.Module+" "+l.Version)
		}
		if l.Kind == "" || l.Kind == "see its text" || len(l.Text) < 200 {
			t.Errorf("%s: the licence %q of %d bytes", l.Module, l.Kind, len(l.Text))
		}
	}
	slices.Sort(named)
	if !slices.Equal(named, linked) {
		t.Errorf("licences.txt names\n%s\nthe console is built of\n%s\nRun: go generate ./web/licences", strings.Join(named, "\n"), strings.Join(linked, "\n"))
	}
	if len(named) < 20 {
		t.Errorf("%d modules are too few to be true", len(named))
	}
}
