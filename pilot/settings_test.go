package pilot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/session"
)

func TestSettingsOfTheEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		env     map[string]string
		problem string // part of it; empty: none
		want    config
	}{
		{"nothing", nil, "not set up yet", config{}},
		{"anthropic", map[string]string{"CONSOLE_PILOT_PROVIDER": "anthropic", "CONSOLE_PILOT_MODEL": "m", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "other"}, "",
			config{kept: kept{Provider: "anthropic", Model: "m"}, Key: "k", FromEnv: true}},
		{"openai", map[string]string{"CONSOLE_PILOT_PROVIDER": "openai", "CONSOLE_PILOT_MODEL": "m", "CONSOLE_PILOT_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "k", "CONSOLE_PILOT_PRICES": "3 / 15.5"}, "",
			config{kept: kept{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1", PriceIn: 3, PriceOut: 15.5}, Key: "k", FromEnv: true}},
		{"a local model needs no key", map[string]string{"CONSOLE_PILOT_PROVIDER": "openai", "CONSOLE_PILOT_MODEL": "m", "CONSOLE_PILOT_BASE_URL": "http://127.0.0.1:1/v1"}, "",
			config{kept: kept{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1"}, FromEnv: true}},
		{"scripted by its own variable", map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_MODEL": "m", "CONSOLE_PILOT_SCRIPT": "/s"}, "",
			config{kept: kept{Provider: "scripted", Model: "/s"}, FromEnv: true}},
		{"scripted by its model", map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_MODEL": "/s"}, "",
			config{kept: kept{Provider: "scripted", Model: "/s"}, FromEnv: true}},

		{"no key", map[string]string{"CONSOLE_PILOT_PROVIDER": "anthropic", "CONSOLE_PILOT_MODEL": "m"}, "Set ANTHROPIC_API_KEY", config{}},
		{"no model", map[string]string{"CONSOLE_PILOT_PROVIDER": "openai", "OPENAI_API_KEY": "k"}, "which model", config{}},
		{"no file", map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted"}, "CONSOLE_PILOT_SCRIPT", config{}},
		{"no URL", map[string]string{"CONSOLE_PILOT_PROVIDER": "openai", "CONSOLE_PILOT_MODEL": "m", "CONSOLE_PILOT_BASE_URL": "models"}, "base URL", config{}},
		{"no provider", map[string]string{"CONSOLE_PILOT_PROVIDER": "oracle"}, `"oracle"`, config{}},
		{"no prices", map[string]string{"CONSOLE_PILOT_PROVIDER": "openai", "CONSOLE_PILOT_MODEL": "m", "OPENAI_API_KEY": "k", "CONSOLE_PILOT_PRICES": "3"}, "two prices", config{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, problem, err := NewSettings(book{}, t.TempDir(), environment(tt.env)).current(bg)
			if err != nil || (problem == "") != (tt.problem == "") || !strings.Contains(problem, tt.problem) {
				t.Errorf("%q, %v", problem, err)
			}
			if tt.problem == "" && c != tt.want {
				t.Errorf("%+v, want %+v", c, tt.want)
			}
		})
	}
}

// A key is kept encrypted, by a key in a file that only the owner can read, and
// goes with the provider and the address that it was entered for.
func TestAKeptKey(t *testing.T) {
	const key = "sk-the-key-of-a-test"
	b, dir := book{}, t.TempDir()
	s := NewSettings(b, dir, environment(nil))
	set := session.PilotSettings{Provider: "openai", Model: "m", BaseURL: "https://models.example/v1", NewKey: key}
	if err := s.Change(bg, set); err != nil {
		t.Fatal(err)
	}
	keyNow := func() string {
		c, _, err := NewSettings(b, dir, environment(nil)).current(bg) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		return c.Key
	}
	if keyNow() != key {
		t.Fatal("the key is not kept")
	}
	for name, value := range b {
		if strings.Contains(value, key) {
			t.Errorf("%s holds the key", name)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "pilot-key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	shown, err := s.Shown(bg)
	if err != nil || !shown.KeyKept || shown.NewKey != "" {
		t.Errorf("shown: %+v, %v", shown, err)
	}

	set.NewKey, set.Model = "", "another"
	if err := s.Change(bg, set); err != nil || keyNow() != key {
		t.Errorf("another model loses the key: %v", err)
	}
	set.BaseURL = "https://elsewhere.example/v1"
	if err := s.Change(bg, set); err != nil || keyNow() != "" {
		t.Errorf("the key would go to another address: %v", err)
	}
	set.NewKey = key
	if err := s.Change(bg, set); err != nil || keyNow() != key {
		t.Errorf("the key entered again: %v", err)
	}
	set.NewKey, set.DropKey = "", true
	if err := s.Change(bg, set); err != nil || keyNow() != "" {
		t.Errorf("the key cannot be forgotten: %v", err)
	}

	set.NewKey, set.DropKey = key, false
	if err := s.Change(bg, set); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "pilot-key")); err != nil {
		t.Fatal(err)
	}
	if _, problem, err := s.current(bg); err != nil || !strings.Contains(problem, "Enter the key again") {
		t.Errorf("without its key file: %q, %v", problem, err)
	}
}

func TestTwoSealsDiffer(t *testing.T) {
	b := &keybox{dir: t.TempDir()}
	x, err1 := b.seal("key")
	y, err2 := b.seal("key")
	if err1 != nil || err2 != nil || x == y {
		t.Errorf("%q, %q, %v, %v", x, y, err1, err2)
	}
	for _, bad := range []string{"", "key", "v1:", "v1:AAAA", x[:len(x)-4] + "AAA=", "v2:" + x[3:]} {
		if plain, err := b.open(bad); err == nil {
			t.Errorf("%q opens as %q", bad, plain)
		}
	}
}

func TestAKeyByItsVariable(t *testing.T) {
	env := map[string]string{"MY_KEY": "k"}
	s := NewSettings(book{}, t.TempDir(), environment(env))
	if err := s.Change(bg, session.PilotSettings{Provider: "anthropic", Model: "m", KeyEnv: "MY_KEY"}); err != nil {
		t.Fatal(err)
	}
	if c, problem, err := s.current(bg); err != nil || problem != "" || c.Key != "k" {
		t.Errorf("%q, %q, %v", c.Key, problem, err)
	}
	delete(env, "MY_KEY")
	if _, problem, _ := s.current(bg); !strings.Contains(problem, "MY_KEY") {
		t.Errorf("%q", problem)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	s := NewSettings(book{}, t.TempDir(), environment(nil))
	for name, in := range map[string]session.PilotSettings{
		"no model": {Provider: "openai"}, "no such provider": {Provider: "x", Model: "m"}, "no URL": {Provider: "openai", Model: "m", BaseURL: "file:///etc"},
		"a password in the URL": {Provider: "openai", Model: "m", BaseURL: "https://a:b@models.example"},
		"a key for a name":      {Provider: "openai", Model: "m", KeyEnv: "sk-abc"}, "two lines": {Provider: "openai", Model: "m", NewKey: "a\nb"},
		"a price below nothing": {Provider: "openai", Model: "m", PriceIn: -1},
	} {
		if err := s.Change(bg, in); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Change(bg, session.PilotSettings{Provider: "openai", Model: "m", NewKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Change(bg, session.PilotSettings{}); err != nil {
		t.Fatal(err)
	}
	if shown, err := s.Shown(bg); err != nil || shown.KeyKept || shown.Provider != "" || shown.Problem == "" {
		t.Errorf("switched off: %+v, %v", shown, err)
	}
	fixed := NewSettings(book{}, t.TempDir(), environment(map[string]string{"CONSOLE_PILOT_PROVIDER": "scripted", "CONSOLE_PILOT_MODEL": "/s"}))
	if err := fixed.Change(bg, session.PilotSettings{Provider: "openai", Model: "m"}); !errors.Is(err, session.ErrConflict) {
		t.Errorf("the environment is overruled: %v", err)
	}
}

func TestScriptLines(t *testing.T) {
	for name, text := range map[string]string{
		"lines":  "{\"tool\":\"ask\",\"question\":\"a\"}\n\n{\"tool\":\"finish\"}\n",
		"array":  `[{"tool":"ask","question":"a"},{"tool":"finish"}]`,
		"packed": `{"tool":"ask","question":"a"}{"tool":"finish"}`,
	} {
		if lines, err := scriptLines([]byte(text)); err != nil || len(lines) != 2 || lines[0].Tool != Ask {
			t.Errorf("%s: %+v, %v", name, lines, err)
		}
	}
	for _, bad := range []string{`{"tool":`, `[{"tool":"ask"}`, `"ask"`, `[1]`} {
		if lines, err := scriptLines([]byte(bad)); err == nil {
			t.Errorf("%q reads as %+v", bad, lines)
		}
	}
}
