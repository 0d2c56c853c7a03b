package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"signalbox/session"
)

var question = object{"kind": "approval", "title": "Run make?", "body": "make", "options": []object{{"option": "yes", "label": "Yes", "key": "1"}}}

func titlesOf(doc *goquery.Document) string {
	var titles []string
	doc.Find("[data-testid=session-row] .row-title").Each(func(_ int, s *goquery.Selection) { titles = append(titles, s.Text()) })
	return strings.Join(titles, ", ")
}

func (b *box) named(title string, snap object) string {
	b.t.Helper()
	id := b.api("POST", "/sessions", object{"engine": "codex", "runtime": "external", "title": title, "dir": "/srv/" + strings.ToLower(title)}).want(http.StatusCreated).object()["id"].(string)
	if snap != nil {
		snap["engineRuntime"] = "child-process"
		b.push(id, snap).want(http.StatusOK)
	}
	return id
}

func TestTheListIsInTheOwnersOrder(t *testing.T) {
	b := start(t)
	p := b.signIn()
	if doc := p.get("/").want(http.StatusOK).page(); doc.Find("h1").Text() != "No sessions yet." || doc.Find("title").Text() != "Signalbox" {
		t.Errorf("an empty list: %q, %q", doc.Find("h1").Text(), doc.Find("title").Text())
	}
	asks := b.named("Asks", object{"pane": "x", "prompt": question})
	b.named("Works", object{"pane": "compiling the importer", "runState": "thinking"})
	b.named("Fails", object{"pane": "no quota left", "runState": "idle", "lastTurn": object{"verdict": "failed", "at": "2026-08-12T12:00:00Z", "exitCode": 1}})
	done := b.named("Finished", object{"pane": "all tests pass\n", "runState": "idle", "lastTurn": object{"verdict": "ok", "at": "2026-08-12T12:00:00Z"}})
	ask2 := b.named("Asks too", object{"pane": "x", "prompt": question})

	doc := p.get("/").want(http.StatusOK).page()
	if got, want := titlesOf(doc), "Asks too, Asks, Works, Finished, Fails"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	if doc.Find("title").Text() != "(2) Signalbox" || doc.Find("h1").Text() != "2 sessions need you." {
		t.Errorf("title %q, heading %q", doc.Find("title").Text(), doc.Find("h1").Text())
	}
	icon := doc.Find("link[rel=icon]")
	if href := icon.AttrOr("href", ""); !strings.Contains(href, "/icon-2.") || !strings.Contains(icon.AttrOr("data-icons", ""), href) {
		t.Errorf("icon %q", href)
	}
	if line := doc.Find("[data-session=" + asks + "] .row-line").Text(); line != "Needs you Run make?" {
		t.Errorf("the line that matters is %q", line)
	}
	if title := p.get("/sessions/" + asks).page().Find("title").Text(); title != "(2) Asks · Signalbox" {
		t.Errorf("title of a session %q", title)
	}
	for path, want := range map[string]string{
		"/?headline=working": "Works", "/?q=fin": "Finished", "/?q=importer": "Works", "/?q=quota": "Fails", "/?q=srv+asks": "Asks too, Asks",
		"/?q=nowhere": "", "/?headline=ready": "", "/?archived=1": "", "/?headline=done&q=tests": "Finished",
	} {
		if got := titlesOf(p.get(path).want(http.StatusOK).page()); got != want {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	found := p.get("/?q=importer").page()
	if line := found.Find("[data-testid=session-row] .row-line span").Text(); line != "compiling the importer" || !strings.Contains(found.Find("#listfilters").Text(), "1 session found for “importer”") {
		t.Errorf("found %q", line)
	}
	if got := doc.Find("[data-session=" + done + "] .row-do button").Text(); got != "Archive" || doc.Find("[data-session="+asks+"] .row-do").Length() != 0 {
		t.Errorf("what is done offers %q", got)
	}
	var filters []string
	doc.Find(".filters a").Each(func(_ int, s *goquery.Selection) {
		filters = append(filters, strings.Join(strings.Fields(s.Text()), " "))
	})
	if got := strings.Join(filters, ", "); got != "All 5, Needs you 2, Working 1, Failed 1, Done 1" {
		t.Errorf("filters %q", got)
	}

	// It follows by itself: rows, sentence, and the count in the title.
	ws := p.live("/live")
	patch(t, ws)
	b.push(ask2, object{"pane": "x", "runState": "idle", "engineRuntime": "child-process"})
	for {
		doc := patch(t, ws)
		if doc.Find("#needs").AttrOr("data-needs", "") == "1" && doc.Find("#listhead h1").Text() == "One session needs you." && strings.HasPrefix(titlesOf(doc), "Asks, Works") {
			break
		}
	}

	p.post("/sessions/"+done+"/archive", map[string]string{"archived": "1"}).want(http.StatusSeeOther)
	if got := titlesOf(p.get("/").page()); strings.Contains(got, "Finished") {
		t.Errorf("archived, and in the list: %q", got)
	}
	doc = p.get("/?archived=1").page()
	if got := titlesOf(doc); got != "Finished" || doc.Find(".row-do button").Text() != "Put back" {
		t.Errorf("the archive holds %q", got)
	}
	p.post("/sessions/"+done+"/archive", map[string]string{"archived": "0"}).want(http.StatusSeeOther)
	if got := titlesOf(p.get("/").page()); !strings.Contains(got, "Finished") {
		t.Errorf("put back, and not in the list: %q", got)
	}
}

func TestALongListHasPages(t *testing.T) {
	b := start(t)
	p := b.signIn()
	for n := range listPage + 3 {
		err := b.store.CreateSession(bg, session.Session{ID: session.ID(session.NewID("s")), Title: fmt.Sprint(n), Engine: session.Codex, Runtime: session.External, CreatedAt: time.Unix(int64(1e9+n), 0)})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.desk.Feed().ChangedAll()
	first := p.get("/").page()
	if n := first.Find("[data-testid=session-row]").Length(); n != listPage {
		t.Errorf("%d rows on the first page", n)
	}
	next := first.Find("#sessions .older a.button").AttrOr("href", "")
	second := p.get(next).want(http.StatusOK).page()
	if got := titlesOf(second); next != "/?page=2" || got != "2, 1, 0" {
		t.Errorf("%s shows %q", next, got)
	}
	if got := second.Find("#sessions .older span").Text(); got != "51–53 of 53" || second.Find("#sessions .older a").AttrOr("href", "") != "/" {
		t.Errorf("place %q", got)
	}
	if got := titlesOf(p.get("/?page=9").want(http.StatusOK).page()); got != "" {
		t.Errorf("behind the last page: %q", got)
	}
}
