package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"signalbox/session"
	"signalbox/views"
)

func TestReadExtra(t *testing.T) {
	old := session.Extra{Env: []string{"KEY=secret", "OTHER=x"}}
	for _, test := range []struct {
		args, env string
		want      session.Extra
		refused   string
	}{
		{"", "", session.Extra{}, ""},
		{`--model gpt-5 --append-system-prompt 'two words' -c "a=b c"`, "", session.Extra{Args: []string{"--model", "gpt-5", "--append-system-prompt", "two words", "-c", "a=b c"}}, ""},
		{"`id`", "", session.Extra{Args: []string{"`id`"}}, ""}, // nothing is run
		{"-m $HOME", "", session.Extra{Args: []string{"-m", "$HOME"}}, ""},
		{"-m x; rm -rf /", "", session.Extra{}, "ends a command"},
		{"-m x | tee", "", session.Extra{}, "ends a command"},
		{"-m 'x", "", session.Extra{}, "a quote is not closed"},
		{"", "KEY=…\n\n NEW=a b \n", session.Extra{Env: []string{"KEY=secret", "NEW=a b"}}, ""},
		{"", "UNKNOWN=…", session.Extra{Env: []string{"UNKNOWN=…"}}, ""},
	} {
		got, err := readExtra(views.PresetForm{Args: test.args, Env: test.env}, old)
		switch {
		case test.refused != "":
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%q: %v, want %q", test.args, err, test.refused)
			}
		case err != nil || !slices.Equal(got.Args, test.want.Args) || !slices.Equal(got.Env, test.want.Env):
			t.Errorf("%q %q is read as %q %q (%v)", test.args, test.env, got.Args, got.Env, err)
		}
	}
}

// What is shown as a command line is read back as it was.
func TestCommandLine(t *testing.T) {
	for _, argv := range [][]string{{"codex", "-c", `sandbox_mode="read-only"`}, {"it's", "a b", "", "$HOME", "`x`", "a;b", "é", "--flag=a,b:c/d"}} {
		got, err := readExtra(views.PresetForm{Args: commandLine(argv)}, session.Extra{})
		if err != nil || !slices.Equal(got.Args, argv) {
			t.Errorf("%q becomes %s and is read as %q (%v)", argv, commandLine(argv), got.Args, err)
		}
	}
}

func TestPresetPages(t *testing.T) {
	b := start(t)
	p := b.signIn()
	form := func(do string, more ...string) answer {
		f := map[string]string{"do": do, "name": "Deep", "engine": "codex", "args": "-m gpt-5", "env": "KEY=secret"}
		for i := 0; i < len(more); i += 2 {
			f[more[i]] = more[i+1]
		}
		return p.post("/settings/presets", f)
	}
	checked := form("check", "name", "").want(http.StatusOK).page()
	if note := checked.Find(".notice").Text(); !strings.Contains(note, "No connected machine has Codex") || find(t, checked, "preset-form").Find("[name=args]").AttrOr("value", "") != "-m gpt-5" {
		t.Errorf("without a machine the page says %q", note)
	}
	if all, _ := b.store.Presets(bg); len(all) != 0 {
		t.Errorf("a check saved %v", all)
	}
	form("save").want(http.StatusSeeOther)
	page := p.get("/settings/presets?edit=Deep").want(http.StatusOK)
	if strings.Contains(page.body, "secret") {
		t.Error("a value is shown again")
	}
	if env := page.page().Find("[name=env]").Text(); env != "KEY=…\n" {
		t.Errorf("the variables are shown as %q", env)
	}
	form("save", "env", "KEY=…", "args", "-m gpt-6").want(http.StatusSeeOther)
	saved, err := b.store.Preset(bg, "Deep")
	if err != nil || !slices.Equal(saved.Extra.Env, []string{"KEY=secret"}) || !slices.Equal(saved.Extra.Args, []string{"-m", "gpt-6"}) {
		t.Errorf("saved is %+v (%v)", saved, err)
	}
	for _, bad := range [][]string{{"name", ""}, {"engine", "custom"}, {"engine", "x"}, {"env", "1A=x"}, {"env", "A"}, {"args", "'"}} {
		if a := form("save", bad...); a.status != http.StatusBadRequest || find(t, a.page(), "error").Text() == "" {
			t.Errorf("%q is answered %d", bad, a.status)
		}
	}
	p.post("/settings/presets/delete", map[string]string{"name": "Deep"}).want(http.StatusSeeOther)
	if p.get("/settings/presets?edit=Deep").status != http.StatusNotFound {
		t.Error("a preset outlives its end")
	}
}

// A session is started with a preset only if its runner takes it.
func TestASessionWithoutItsPresetIsRefused(t *testing.T) {
	b := start(t)
	if err := b.store.SavePreset(bg, session.Preset{Name: "Deep", Engine: session.Claude}); err != nil {
		t.Fatal(err)
	}
	b.connect(helloOf("box"), b.token("box", "runner"), func(c session.Command) *session.Result {
		if c.Do == session.DoPreview {
			return &session.Result{ID: c.ID, Code: session.CodeUnknown}
		}
		return obliging(c)
	})
	for preset, words := range map[string]string{"none": "There is no preset", "Deep": "launches claude, not codex"} {
		a := b.api("POST", "/sessions", object{"engine": "codex", "dir": "/work", "runner": "box", "preset": preset})
		if a.want(http.StatusBadRequest, "invalid"); !strings.Contains(a.message(), words) {
			t.Errorf("%s: %s", preset, a.message())
		}
	}
	if err := b.store.SavePreset(bg, session.Preset{Name: "Old", Engine: session.Codex}); err != nil {
		t.Fatal(err)
	}
	a := b.api("POST", "/sessions", object{"engine": "codex", "dir": "/work", "runner": "box", "preset": "Old"})
	if a.want(http.StatusConflict, "conflict"); !strings.Contains(a.message(), "knows no presets") {
		t.Errorf("an old runner: %s", a.message())
	}
	if items, _ := b.api("GET", "/sessions", nil).items(); len(items) != 0 {
		t.Errorf("%d sessions were made", len(items))
	}
}

func TestConnectAMachine(t *testing.T) {
	b := start(t)
	p := b.signIn()
	made := p.post("/runners/connect", map[string]string{}).want(http.StatusOK).page()
	lines := made.Find(".evidence pre").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "console runner --server ") || !strings.HasSuffix(lines[0], " --name machine-1") || !strings.Contains(lines[1], "/download/console") {
		t.Fatalf("the commands are %q", lines)
	}
	words := strings.Fields(lines[0])
	token := words[slices.Index(words, "--token")+1]
	if a := b.as(token, "GET", "/download/console", nil); a.status != http.StatusOK || len(a.body) < 1<<20 {
		t.Errorf("the program is answered with %d and %d bytes", a.status, len(a.body))
	}
	if a := b.as(token, "GET", "/api/v1/sessions", nil); a.status != http.StatusForbidden {
		t.Errorf("the token may list sessions: %d", a.status)
	}
	if a := b.as("", "GET", "/download/console", nil); a.status == http.StatusOK {
		t.Error("anybody may have the program")
	}
	if second := p.post("/runners/connect", map[string]string{}).want(http.StatusOK); !strings.Contains(second.body, "--name machine-2") {
		t.Error("a second machine gets no name of its own")
	}
	if a := p.post("/runners/connect", map[string]string{"name": "machine-2"}); a.status != http.StatusConflict || find(t, a.page(), "error").Text() == "" {
		t.Errorf("a name that is taken is answered %d", a.status)
	}
}

func TestAbout(t *testing.T) {
	p := start(t).signIn()
	page := p.get("/settings/about").want(http.StatusOK).page()
	if n := find(t, page, "licences").Find("li").Length(); n < 20 {
		t.Errorf("%d licences are named", n)
	}
	if facts := find(t, page, "about").Text(); !strings.Contains(facts, "Version") || !strings.Contains(facts, "Go") {
		t.Errorf("the facts are %q", facts)
	}
	text := p.get("/settings/licences.txt").want(http.StatusOK).body
	for _, words := range []string{"Permission is hereby granted, free of charge", "Apache License", "The Go Authors"} {
		if !strings.Contains(text, words) {
			t.Errorf("the licences do not say %q", words)
		}
	}
}
