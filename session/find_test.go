package session

import "testing"

func TestFindLine(t *testing.T) {
	pane := "first: go test ./store\n\x1b[31mFAIL\x1b[0m TestOrder\nÜberall gut\nlast: ok go\n\n"
	for typed, want := range map[string]string{
		"go test": "first: go test ./store", "fail": "FAIL TestOrder", "FAIL TESTO": "FAIL TestOrder", "store go": "first: go test ./store",
		"über": "Überall gut", "go": "last: ok go", "order": "FAIL TestOrder", "nowhere": "", "store nowhere": "first: go test ./store", "": "last: ok go", "rder": "FAIL TestOrder",
	} {
		if typed == "" {
			continue
		}
		if got := FindLine(pane, typed); got != want {
			t.Errorf("%q finds %q, want %q", typed, got, want)
		}
	}
	for typed, want := range map[string]bool{"Importer": true, "port": true, "move imp": true, "move port": false, "größe": false, "--": false} {
		if got := Holds("Move the Importer", typed); got != want {
			t.Errorf("%q: %v", typed, got)
		}
	}
}
