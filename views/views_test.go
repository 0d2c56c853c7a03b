package views_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"signalbox/views"
	"signalbox/web/pane"
)

func markup(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func render(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(markup(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// hook finds the one element with that data-testid.
func hook(t *testing.T, doc *goquery.Document, name string) *goquery.Selection {
	t.Helper()
	s := doc.Find(`[data-testid="` + name + `"]`)
	if s.Length() != 1 {
		t.Fatalf("%d elements %q, want one", s.Length(), name)
	}
	return s
}

func attrs(t *testing.T, s *goquery.Selection, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got, ok := s.Attr(name); !ok || got != value {
			t.Errorf("%s = %q (there: %v), want %q", name, got, ok, value)
		}
	}
}

func absent(t *testing.T, doc *goquery.Document, names ...string) {
	t.Helper()
	for _, name := range names {
		if n := doc.Find(`[data-testid="` + name + `"]`).Length(); n != 0 {
			t.Errorf("%d elements %q, want none", n, name)
		}
	}
}

func TestPagesKeepAStrictPolicy(t *testing.T) {
	inline := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|javascript:|<script(\s*>|[^>]*>[^<])`)
	for name, c := range samples() {
		html := markup(t, c)
		if found := inline.FindString(html); found != "" {
			t.Errorf("%s: inline code or style: %q", name, found)
		}
		doc := render(t, c)
		ids := map[string]bool{}
		doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
			if id := s.AttrOr("id", ""); ids[id] {
				t.Errorf("%s: id %q twice", name, id)
			} else {
				ids[id] = true
			}
		})
		doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
			label := doc.Find(`label[for="`+s.AttrOr("id", "-")+`"]`).Length() + s.Closest("label").Length()
			if label == 0 && s.AttrOr("aria-label", "") == "" {
				t.Errorf("%s: field %q has no name for people", name, s.AttrOr("name", ""))
			}
		})
		if n := doc.Find("h1").Length(); n != 1 {
			t.Errorf("%s: %d headings of the first rank", name, n)
		}
		doc.Find("use").Each(func(_ int, s *goquery.Selection) {
			if ref := s.AttrOr("href", ""); doc.Find("symbol"+ref).Length() != 1 {
				t.Errorf("%s: no drawing %s", name, ref)
			}
		})
	}
}

const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'`

func TestWhatOthersWroteStaysText(t *testing.T) {
	v := failedPage()
	v.Title, v.Page.Title, v.Line, v.Reason, v.Where = evil, evil, evil, evil, evil
	v.Banner.Detail, v.Banner.Heading = evil, evil
	v.Pane.HTML = pane.HTML(evil, true)
	v.Messages.Now[0].Text, v.Messages.Now[0].Reason = evil, evil
	v.Prompt = &views.Prompt{ID: evil, Title: evil, Body: evil, Options: []views.Option{{Name: evil, Label: evil}}}
	v.Composer.Text = evil
	v.List.Rows = []views.Row{{ID: evil, Title: evil, Line: evil, Where: evil}}
	doc := render(t, views.Session(v))
	if n := doc.Find("script:not([src])").Length() + doc.Find("img").Length(); n != 0 {
		t.Fatalf("%d elements of the engine's in the page", n)
	}
	for _, name := range []string{"turn-detail", "pane", "composer-input", "prompt-option"} {
		if got := strings.TrimSpace(hook(t, doc, name).Text()); got != evil {
			t.Errorf("%s = %q, want it as written", name, got)
		}
	}
	for _, sel := range []string{"h1", ".said", ".prompt pre", ".row-title"} {
		if got := strings.TrimSpace(doc.Find(sel).Text()); got != evil {
			t.Errorf("%s = %q, want it as written", sel, got)
		}
	}
}

func TestSessionList(t *testing.T) {
	doc := render(t, views.Sessions(listPage()))
	hook(t, doc, "session-list")
	attrs(t, hook(t, doc, "new-session"), map[string]string{"href": "/sessions/new"})
	attrs(t, doc.Find("main"), map[string]string{"data-live": "/live"})
	attrs(t, hook(t, doc, "connection"), map[string]string{"data-state": "offline"})
	row := doc.Find(`[data-testid="session-row"][data-session="s_3"]`)
	attrs(t, row, map[string]string{"data-headline": "failed", "data-status": "completed", "data-failures": "1"})
	if text := row.Text(); !strings.Contains(text, "Failed") || !strings.Contains(text, "The engine exited with code 1 on its last turn") {
		t.Errorf("row says %q", text)
	}
	attrs(t, doc.Find(".search"), map[string]string{"method": "get", "action": "/"})
	attrs(t, doc.Find(".older a.button"), map[string]string{"href": "/?page=2"})

	doc = render(t, views.Sessions(emptyListPage()))
	hook(t, doc, "session-list")
	absent(t, doc, "session-row")
	if !strings.Contains(doc.Find(".empty").Text(), "Choose a machine") {
		t.Error("the empty list teaches nothing")
	}
}

func TestFailedSession(t *testing.T) {
	doc := render(t, views.Session(failedPage()))
	attrs(t, hook(t, doc, "session-header"), map[string]string{"data-status": "completed", "data-headline": "failed", "id": "state-s_3"})
	attrs(t, hook(t, doc, "turn-banner"), map[string]string{"data-verdict": "failed", "data-exit-code": "1", "data-failures": "1"})
	if got := hook(t, doc, "turn-detail").Text(); got != failedPage().Banner.Detail {
		t.Errorf("detail = %q", got)
	}
	attrs(t, hook(t, doc, "pane"), map[string]string{"data-seq": "42", "tabindex": "0", "aria-label": "Engine output", "id": "pane-s_3"})
	if got, want := hook(t, doc, "pane").Text(), pane.Text(transcript, true); got != want {
		t.Errorf("pane = %q, want %q", got, want)
	}
	attrs(t, hook(t, doc, "message"), map[string]string{"data-message": "m_1", "data-state": "delivered"})
	absent(t, doc, "pane-placeholder", "prompt-card", "interrupt", "restart")
	attrs(t, hook(t, doc, "stop").Closest("form"), map[string]string{"method": "post", "action": "/sessions/s_3/stop"})
	attrs(t, hook(t, doc, "composer"), map[string]string{"method": "post", "action": "/sessions/s_3/messages"})
	attrs(t, hook(t, doc, "composer-input"), map[string]string{"name": "text"})

	v := failedPage()
	v.Banner.ExitCode = ""
	attrs(t, hook(t, render(t, views.Session(v)), "turn-banner"), map[string]string{"data-exit-code": ""})
	v.Banner = nil
	absent(t, render(t, views.Session(v)), "turn-banner", "turn-detail")
}

func TestEmptyPane(t *testing.T) {
	doc := render(t, views.Session(nothingSentPage()))
	attrs(t, hook(t, doc, "pane-placeholder"), map[string]string{"data-cause": "nothing-sent"})
	if got := hook(t, doc, "pane").Text(); got != "" {
		t.Errorf("pane = %q, want it there and empty", got)
	}
}

func TestPrompt(t *testing.T) {
	doc := render(t, views.Session(needsYouPage()))
	attrs(t, hook(t, doc, "prompt-card"), map[string]string{"data-prompt-id": "p_9f2c", "data-kind": "approval"})
	options := doc.Find(`[data-testid="prompt-option"]`)
	var names []string
	options.Each(func(_ int, s *goquery.Selection) {
		names = append(names, s.AttrOr("data-option", ""))
		form := s.Closest("form")
		attrs(t, form, map[string]string{"method": "post", "action": "/sessions/s_1/answer"})
		attrs(t, form.Find("[name=promptId]"), map[string]string{"value": "p_9f2c"})
		attrs(t, form.Find("[name=option]"), map[string]string{"value": s.AttrOr("data-option", "")})
	})
	if got := strings.Join(names, " "); got != "yes always no" {
		t.Errorf("options %q, want the engine's order", got)
	}
	attrs(t, options.Eq(1).Closest("form").Find("[name=sure]"), map[string]string{"value": ""})
	if _, ok := options.Eq(1).Closest("form").Attr("data-confirm"); !ok {
		t.Error("a lasting option is not asked again")
	}

	v := needsYouPage()
	v.Prompt.Options[1].Asked = true
	attrs(t, render(t, views.Session(v)).Find("[name=sure]"), map[string]string{"value": "1"})

	doc = render(t, views.Session(heldPage()))
	if n := doc.Find(`[data-testid="prompt-option"][disabled]`).Length(); n != 2 {
		t.Errorf("%d options held back, want 2", n)
	}
	if got := doc.Find(".elided").Text(); !strings.Contains(got, "12 lines are hidden") {
		t.Errorf("elided = %q", got)
	}
	attrs(t, doc.Find(".say [name=promptId]"), map[string]string{"value": "p_9f2c"})
}

func TestQueuedMessageCanBeChanged(t *testing.T) {
	doc := render(t, views.Session(workingPage()))
	queued := doc.Find(`[data-message="m_6"]`)
	attrs(t, queued, map[string]string{"data-state": "queued"})
	if n := queued.Find(`form[action="/sessions/s_2/messages/m_6/edit"] textarea[name=text]`).Length(); n != 1 {
		t.Error("no edit form")
	}
	if n := queued.Find(`form[action="/sessions/s_2/messages/m_6/withdraw"]`).Length(); n != 1 {
		t.Error("no withdraw form")
	}
	if n := doc.Find(`[data-message="m_5"] form`).Length(); n != 0 {
		t.Error("a delivered message can be changed")
	}
	hook(t, doc, "interrupt")
}

func TestComposerThatTakesNothingSaysWhy(t *testing.T) {
	v := nothingSentPage()
	v.Composer.Off = "This session is pushed from outside and takes no messages."
	doc := render(t, views.Session(v))
	for _, name := range []string{"composer-input", "composer-send"} {
		if _, ok := hook(t, doc, name).Attr("disabled"); !ok {
			t.Errorf("%s is not disabled", name)
		}
	}
	if got := doc.Find(".hint").Text(); !strings.Contains(got, v.Composer.Off) {
		t.Errorf("hint = %q", got)
	}
}

// Each fragment drawn alone is one element with the id it has in the page, and
// the pane begins its message as live.js expects.
func TestFragmentsMatchThePage(t *testing.T) {
	v := workingPage()
	doc := render(t, views.Session(v))
	for name, c := range map[string]templ.Component{
		"state": views.SessionState(v), "alert": views.SessionAlert(v), "placeholder": views.PanePlaceholder(v), "pane": views.PaneText(v),
		"messages": views.Messages(v), "hint": views.ComposerHint(v), "timeline": views.Timeline(v),
	} {
		id := name + "-" + v.ID
		alone := render(t, c).Find("body").Children()
		if alone.Length() != 1 || alone.AttrOr("id", "") != id {
			t.Errorf("%s: %d elements, id %q", name, alone.Length(), alone.AttrOr("id", ""))
		}
		if n := doc.Find("#" + id).Length(); n != 1 {
			t.Errorf("%s: %d in the page", name, n)
		}
		if doc.Find("#"+id+" [data-testid=composer]").Length() != 0 || doc.Find("#"+id+" [data-testid=connection]").Length() != 0 {
			t.Errorf("%s would draw over the composer or the connection", name)
		}
	}
	html := markup(t, views.PaneText(v))
	if !regexp.MustCompile(`^<pre id="pane-s_2" [^>]*data-seq="311"[^>]*><span class="ln">`).MatchString(html) || !strings.HasSuffix(html, "</span></pre>") {
		t.Errorf("pane fragment begins %.120q", html)
	}
	for _, c := range []templ.Component{views.SessionRows(views.List{}), views.RunnerRows(runnersPage()), views.NewChoices(newPage()), views.WorkdirCheck(newPage())} {
		if alone := render(t, c).Find("body").Children(); alone.Length() != 1 || alone.AttrOr("id", "") == "" {
			t.Errorf("fragment %.80q is not one element with an id", markup(t, c))
		}
	}
}

func TestNewSession(t *testing.T) {
	doc := render(t, views.New(newErrorPage()))
	form := hook(t, doc, "new-session-form")
	attrs(t, form, map[string]string{"method": "post", "action": "/sessions"})
	for _, name := range []string{"engine", "runner", "dir", "trust", "instruction", "title", "runtime"} {
		if n := form.Find(`[name="` + name + `"]`).Length(); n != 1 {
			t.Errorf("%d fields %q", n, name)
		}
	}
	attrs(t, hook(t, doc, "workdir-verdict"), map[string]string{"data-verdict": "not-a-git-repo"})
	attrs(t, hook(t, doc, "workdir-override"), map[string]string{"type": "checkbox", "name": "override"})
	attrs(t, hook(t, doc, "error"), map[string]string{"role": "alert"})
	attrs(t, form.Find("[name=dir]"), map[string]string{"value": "~/notes", "aria-invalid": "true"})
	attrs(t, form.Find("[name=engine] [selected]"), map[string]string{"value": "codex"})
	attrs(t, form.Find("button[name=check]"), map[string]string{"formaction": "/sessions/new", "formmethod": "post"})
	if got := form.Find("[name=instruction]").Text(); got != "Summarise the notes in this folder" {
		t.Errorf("instruction = %q", got)
	}
	if _, ok := form.Find("[name=engine] [value=gemini]").Attr("disabled"); !ok {
		t.Error("an engine that is not there can be chosen")
	}

	v := newPage()
	v.Workdir = &views.Workdir{Verdict: "missing", Words: "There is no such folder on mac-mini."}
	absent(t, render(t, views.New(v)), "workdir-override", "error")
	v.Custom, v.Command = true, "my-agent --print"
	attrs(t, render(t, views.New(v)).Find("[name=command]"), map[string]string{"value": "my-agent --print"})
}

func TestOtherPages(t *testing.T) {
	doc := render(t, views.Machines(runnersPage()))
	rows := doc.Find(`[data-testid="runner-row"]`)
	attrs(t, rows.Eq(0), map[string]string{"data-connected": "true"})
	attrs(t, rows.Eq(1), map[string]string{"data-connected": "false"})
	if !strings.Contains(doc.Text(), "console runner --server") {
		t.Error("runners: no way to connect another machine")
	}

	doc = render(t, views.Past(historyPage()))
	attrs(t, hook(t, doc, "history-scrubber"), map[string]string{"type": "range", "name": "at", "value": "62", "max": "64"})
	attrs(t, hook(t, doc, "pane"), map[string]string{"data-seq": "42"})

	doc = render(t, views.SignIn(loginPage()))
	attrs(t, doc.Find("form"), map[string]string{"method": "post", "action": "/login"})
	hook(t, doc, "error")
	if doc.Find("nav, .signout").Length() != 0 {
		t.Error("login: navigation before signing in")
	}

	hook(t, render(t, views.ErrorPage(errorPage())), "error")

	doc = render(t, views.Preferences(settingsPage()))
	attrs(t, doc.Find(`form[action="/settings/tokens/revoke"] [name=name]`).First(), map[string]string{"value": "laptop"})
	if got := strings.Join(strings.Fields(doc.Find(".things li").First().Text()), " "); !strings.Contains(got, "A machine · made 12 Aug · used 5 m") {
		t.Errorf("token row = %q", got)
	}
}
