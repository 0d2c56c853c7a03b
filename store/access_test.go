package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

func TestOnlyHashesOfSecretsAreInTheFiles(t *testing.T) {
	s := openTemp(t)
	must(s.CreateToken(bg, "laptop", OwnerToken, "token-secret-4711", noon))(t)
	must(s.CreateBrowser(bg, "browser-secret-4711", "Firefox", noon, noon.Add(time.Hour)))(t)
	if err := s.CreateLogin(bg, "login-code-4711", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMeta(bg, "proof", "that-this-test-looks-4711"); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	files, _ := filepath.Glob(s.Path() + "*")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for _, word := range []string{"token-secret", "browser-secret", "login-code", "that-this-test-looks"} {
			if bytes.Contains(data, []byte(word)) {
				found[word] = true
			}
		}
	}
	if len(found) != 1 || !found["that-this-test-looks"] {
		t.Errorf("found in %v: %v", files, found)
	}
}

func TestTokens(t *testing.T) {
	s := openTemp(t)
	now := noon
	s.now = func() time.Time { return now }
	tok := must(s.CreateToken(bg, "laptop", OwnerToken, "s1", noon))(t)
	for _, tc := range []struct {
		name, kind, secret string
		want               error
	}{{"laptop", OwnerToken, "s2", session.ErrConflict}, {"x", "king", "s2", session.ErrInvalid},
		{"", OwnerToken, "s2", session.ErrInvalid}, {"x", OwnerToken, "", session.ErrInvalid}, {"x", OwnerToken, "s1", session.ErrConflict}} {
		if _, err := s.CreateToken(bg, tc.name, tc.kind, tc.secret, noon); !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
	used := func() time.Time {
		t.Helper()
		if got := must(s.TokenBySecret(bg, "s1"))(t); got.ID != tok.ID || got.Kind != OwnerToken {
			t.Errorf("%+v", got)
		}
		s.SetMeta(bg, "wait", "x") // behind the note in the queue
		return must(s.Tokens(bg))(t)[0].LastUsed
	}
	if got := used(); !got.Equal(noon) {
		t.Errorf("used %v", got)
	}
	now = noon.Add(59 * time.Second)
	if got := used(); !got.Equal(noon) {
		t.Errorf("used %v: written more than once a minute", got)
	}
	now = noon.Add(61 * time.Second)
	if got := used(); !got.Equal(now) {
		t.Errorf("used %v, want %v", got, now)
	}
	if _, err := s.TokenBySecret(bg, "wrong"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("wrong secret: %v", err)
	}
	other := openAt(t, s.Path())
	if err := other.RevokeToken(bg, "laptop", noon); err != nil {
		t.Error(err)
	}
	if _, err := s.TokenBySecret(bg, "s1"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("revoked by another process: %v", err)
	}
	if err := s.RevokeToken(bg, tok.ID, noon.Add(time.Hour)); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if got := must(s.Tokens(bg))(t)[0]; !got.RevokedAt.Equal(noon) {
		t.Errorf("revoked at %v", got.RevokedAt)
	}
	if err := s.RevokeToken(bg, "laptop", noon); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no live one: %v", err)
	}
	must(s.CreateToken(bg, "laptop", OwnerToken, "s3", noon))(t) // the name is free again
}

func TestATokenBelongsToTheRunnerThatUsesItFirst(t *testing.T) {
	s := openTemp(t)
	a, b := must(s.CreateToken(bg, "a", RunnerToken, "sa", noon))(t), must(s.CreateToken(bg, "b", RunnerToken, "sb", noon))(t)
	var problem *session.Problem
	for _, tc := range []struct {
		token, runner string
		want          error
	}{{a.ID, "box", nil}, {a.ID, "box", nil}, {a.ID, "bay", session.ErrForbidden}, {b.ID, "box", session.ErrConflict},
		{b.ID, "bay", nil}, {"t_none", "x", session.ErrNotFound}, {b.ID, "", session.ErrInvalid}} {
		err := s.BindRunner(bg, tc.token, tc.runner)
		if !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
		if (tc.want == session.ErrForbidden || tc.want == session.ErrConflict) && !errors.As(err, &problem) {
			t.Errorf("%+v: %v has no sentence", tc, err)
		}
	}
	s.RevokeToken(bg, "a", noon)
	c := must(s.CreateToken(bg, "c", RunnerToken, "sc", noon))(t)
	if err := s.BindRunner(bg, c.ID, "box"); err != nil {
		t.Errorf("the name of a revoked token: %v", err)
	}
	if got := must(s.TokenBySecret(bg, "sc"))(t); got.Runner != "box" {
		t.Errorf("%+v", got)
	}
}

func TestALoginWorksOnce(t *testing.T) {
	s := openTemp(t)
	other := openAt(t, s.Path()) // as another process would
	s.now = func() time.Time { return noon }
	if err := other.CreateLogin(bg, "code", noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for i := range 50 {
		wg.Go(func() {
			err := []*Store{s, other}[i%2].UseLogin(bg, "code", noon)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				in++
			} else if !errors.Is(err, session.ErrForbidden) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in != 1 {
		t.Errorf("%d came in", in)
	}
	s.CreateLogin(bg, "late", noon)
	for code, want := range map[string]string{"code": "has been used", "late": "has expired", "none": "not known"} {
		var problem *session.Problem
		if err := s.UseLogin(bg, code, noon); !errors.As(err, &problem) || !strings.Contains(problem.Sentence, want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestBrowsers(t *testing.T) {
	s := openTemp(t)
	br := must(s.CreateBrowser(bg, "s1", "Firefox", noon, noon.Add(time.Hour)))(t)
	must(s.CreateBrowser(bg, "s2", "Safari", noon, noon.Add(2*time.Hour)))(t)
	if got := must(s.Browser(bg, "s1", noon.Add(5*time.Minute)))(t); got.ID != br.ID || got.Agent != "Firefox" || !got.Expires.Equal(br.Expires) {
		t.Errorf("%+v", got)
	}
	s.SetMeta(bg, "wait", "x") // behind the note in the queue
	if got := must(s.Browsers(bg, noon))(t); len(got) != 2 || got[0].ID != br.ID || !got[0].LastSeen.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("%+v", got)
	}
	if _, err := s.Browser(bg, "s1", noon.Add(time.Hour)); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("expired: %v", err)
	}
	if got := must(s.Browsers(bg, noon.Add(time.Hour)))(t); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if err := s.RevokeBrowser(bg, br.ID); err != nil {
		t.Error(err)
	}
	if err := s.RevokeBrowser(bg, br.ID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	if err := s.RevokeBrowsers(bg); err != nil {
		t.Error(err)
	}
	if _, err := s.Browser(bg, "s2", noon); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("turned out: %v", err)
	}
}

func TestRunners(t *testing.T) {
	s := openTemp(t)
	r := Runner{Name: "box", TokenID: "t", Journal: "j", Build: "1", OS: "linux/amd64", FirstSeen: noon, LastSeen: noon,
		Engines: []session.EngineFound{{Engine: session.Codex, Found: true, Trusts: []session.Trust{session.TrustEdit}}}}
	if err := s.SaveRunner(bg, r); err != nil {
		t.Fatal(err)
	}
	r.FirstSeen, r.LastSeen, r.Build = noon.Add(time.Hour), noon.Add(time.Hour), "2"
	if err := s.SaveRunner(bg, r); err != nil {
		t.Fatal(err)
	}
	if err := s.TouchRunner(bg, "box", noon.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.TouchRunner(bg, "box", noon) // late
	got := must(s.Runner(bg, "box"))(t)
	if !got.FirstSeen.Equal(noon) || !got.LastSeen.Equal(noon.Add(2*time.Hour)) || got.Build != "2" || len(got.Engines) != 1 || !got.Engines[0].Found {
		t.Errorf("%+v", got)
	}
	if all := must(s.Runners(bg))(t); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if _, err := s.Runner(bg, "none"); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	if err := s.TouchRunner(bg, "none", noon); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	if err := s.SaveRunner(bg, Runner{}); !errors.Is(err, session.ErrInvalid) {
		t.Error(err)
	}
}

func TestMeta(t *testing.T) {
	s := openTemp(t)
	for _, value := range []string{"", "one", "two", ""} {
		if err := s.SetMeta(bg, "k", value); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Meta(bg, "k"))(t); got != value {
			t.Errorf("got %q, want %q", got, value)
		}
	}
}
