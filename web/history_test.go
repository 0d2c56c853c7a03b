package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"signalbox/session"
	"signalbox/store"
)

func TestHistoryPage(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Generic)
	path := "/sessions/" + id + "/history"
	if doc := p.get(path).want(http.StatusOK).page(); doc.Find("[data-testid=history-scrubber]").Length() != 0 {
		t.Error("a scrubber over nothing")
	}
	p.get(path + ".cast").want(http.StatusNotFound)
	for _, text := range []string{"first", "second", "third"} {
		b.push(id, object{"pane": text, "engineRuntime": "child-process", "runState": map[bool]string{true: "thinking", false: "idle"}[text == "second"]})
	}
	for query, pane := range map[string]string{
		"": "third", "?at=1": "first", "?at=2": "second", "?at=99": "third", "?at=-1": "first", "?at=zero": "third", "?at=99999999999": "third",
		"?t=2020-01-01T00:00:00Z": "first", "?t=2120-01-01T00:00:00Z": "third", "?t=never": "third",
	} {
		doc := p.get(path + query).want(http.StatusOK).page()
		scrubber := find(t, doc, "history-scrubber")
		attr(t, scrubber, "min", "1")
		attr(t, scrubber, "max", "3")
		if got := find(t, doc, "pane").Text(); got != pane {
			t.Errorf("%s shows %q, want %q", query, got, pane)
		}
	}
	doc := p.get(path + "?at=2").page()
	attr(t, find(t, doc, "history-scrubber"), "value", "2")
	attr(t, find(t, doc, "moment-link"), "href", path+"?at=2")
	var events []string
	doc.Find("[data-testid=history-event] b").Each(func(_ int, s *goquery.Selection) { events = append(events, s.Text()) })
	if got := strings.Join(events, ", "); got != "Ready, Working, Ready" {
		t.Errorf("events %q", got)
	}
	drawing := find(t, doc, "timeline")
	label := drawing.Closest("figure").AttrOr("aria-label", "")
	if n := drawing.Find("rect.bar").Length(); n != 3 || !strings.Contains(label, "working") {
		t.Errorf("%d bars, %q", n, label)
	}
	attr(t, drawing.Find("[data-headline=working] a"), "href", path+"?at=2")
	if n := drawing.Find("a:not([tabindex='-1'])").Length(); n != 0 {
		t.Errorf("%d places to tab to in the drawing", n)
	}
	found := p.get(path + "?q=SECO").page()
	if hits := find(t, found, "history-found").Find("a"); hits.Length() != 1 || hits.AttrOr("href", "") != path+"?at=2&q=SECO" || hits.Find("span").Text() != "second" {
		t.Errorf("found %q at %q", hits.Text(), hits.AttrOr("href", ""))
	}
	if none := p.get(path + "?q=fourth").page(); !strings.Contains(none.Text(), "Nothing on the screens that are kept holds “fourth”.") {
		t.Error("nothing found, and nothing said")
	}
	p.get("/sessions/s_0/history").want(http.StatusNotFound)
	p.get("/sessions/s_0/history.txt").want(http.StatusNotFound)
}

func TestHistoryIsExported(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.named("Über the top / notes", nil)
	at := time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
	for i, pane := range []string{"one\n", "one\n\x1b[31mtwo\x1b[0m\x1b]52;c;ZXZpbA==\x07\n", "one\n\x1b[31mtwo\x1b[0m\nthree\n", "\n"} {
		b.push(id, object{"pane": pane, "format": "ansi", "cols": 20, "rows": 5, "at": at.Add(time.Duration(i) * time.Second).Format(time.RFC3339)}).want(http.StatusOK)
	}
	text := p.get("/sessions/" + id + "/history.txt").want(http.StatusOK)
	if d := text.header.Get("Content-Disposition"); d != "attachment; filename=ber-the-top---notes.txt" {
		t.Errorf("file %q", d)
	}
	if got := strings.Count(text.body, "one\n"); got != 1 || !strings.Contains(text.body, "\ntwo\n") || strings.Contains(text.body, "\x1b") {
		t.Errorf("text\n%s", text.body)
	}
	cast := p.get("/sessions/" + id + "/history.cast").want(http.StatusOK)
	if strings.Contains(cast.body, "52;c") {
		t.Error("the recording holds an escape sequence that is no colour")
	}
	lines := strings.Split(strings.TrimSpace(cast.body), "\n")
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != 20 || head.Height != 5 {
		t.Errorf("head %s: %v", lines[0], err)
	}
	last, screen := -1.0, map[string]string{}
	for _, line := range lines[1:] {
		var e []any
		if err := json.Unmarshal([]byte(line), &e); err != nil || len(e) != 3 || e[1] != "o" {
			t.Fatalf("event %s: %v", line, err)
		}
		if at := e[0].(float64); at < last {
			t.Errorf("%v after %v", at, last)
		} else {
			last = at
		}
		for _, row := range strings.Split(e[2].(string), "\x1b[K") {
			if i := strings.Index(row, ";1H"); i >= 0 {
				screen[row[strings.LastIndex(row[:i], "[")+1:i]] = session.PlainText(row[i+3:])
			}
		}
		if strings.Contains(line, "three") && fmt.Sprint(screen) != "map[1:one 2:two 3:three]" {
			t.Errorf("then the screen is %v", screen)
		}
	}
	if last != 3 || strings.TrimSpace(screen["1"]+screen["2"]+screen["3"]) != "" {
		t.Errorf("at the end, after %v s, the screen is %v", last, screen)
	}
}

// A page can follow an export that it has a name for, and give it up.
func TestAnExportIsFollowed(t *testing.T) {
	var all exports
	now := time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
	stopped := false
	far, end := all.begin("abcdefgh", 3, func() { stopped = true }, now)
	far()
	if x, err := all.of("abcdefgh"); err != nil || x.State != exportMaking || x.Done != 1 || x.Of != 3 {
		t.Errorf("%+v, %v", x, err)
	}
	all.stop("abcdefgh")
	end(exportFailed, now)
	if x, err := all.of("abcdefgh"); err != nil || x.State != exportGivenUp || !stopped {
		t.Errorf("%+v, %v", x, err)
	}
	for _, odd := range []string{"", "short", "UPPERCASE", "abcdefgh"} {
		far, end := all.begin(odd, 3, nil, now)
		far()
		end(exportDone, now)
	}
	if x, _ := all.of("abcdefgh"); x.State != exportGivenUp || x.Done != 1 {
		t.Errorf("another of its name changed it: %+v", x)
	}
	_, end = all.begin("abcdefghi", 3, nil, now.Add(2*exportKept))
	end(exportDone, now)
	all.stop("abcdefghi") // its end has come
	if x, err := all.of("abcdefghi"); err != nil || x.State != exportDone {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := all.of("abcdefgh"); err == nil {
		t.Error("the end of an export is kept for ever")
	}
}

// givesUp is a reader who gives up as soon as an answer begins.
type givesUp struct {
	*httptest.ResponseRecorder
	stop func()
}

func (g givesUp) WriteHeader(status int) {
	g.ResponseRecorder.WriteHeader(status)
	g.stop()
}

// Half a file does not look like a whole one: its connection breaks off.
func TestAnExportThatBreaksOffIsNoFile(t *testing.T) {
	b := start(t)
	id := b.external(session.Generic)
	b.push(id, object{"pane": "one"})
	b.push(id, object{"pane": "two"})
	p := b.signIn()
	for _, broken := range []bool{true, false} {
		req := httptest.NewRequest("GET", b.url+"/sessions/"+id+"/history.txt?track=abcdefgh"+strconv.FormatBool(broken), nil)
		req.Header.Set("Authorization", "Bearer "+ownerSecret)
		track := req.URL.Query().Get("track")
		w := givesUp{httptest.NewRecorder(), func() {
			if broken {
				b.exports.stop(track)
			}
		}}
		var how any
		func() {
			defer func() { how = recover() }()
			b.Handler().ServeHTTP(w, req)
		}()
		want := export{State: exportDone, Done: 2, Of: 2}
		if broken {
			want = export{State: exportGivenUp, Of: 2}
		}
		if (how == http.ErrAbortHandler) != broken {
			t.Errorf("broken off %v, and its handler ends with %v", broken, how)
		}
		var got export
		if err := json.Unmarshal([]byte(p.get("/exports/"+track).want(http.StatusOK).body), &got); err != nil || got.State != want.State || got.Done != want.Done || got.Of != want.Of {
			t.Errorf("it is told as %+v, %v", got, err)
		}
		p.post("/exports/"+track+"/giveup", nil).want(http.StatusNoContent)
	}
	p.get("/exports/abcdefgh").want(http.StatusNotFound)
}

func TestTimeline(t *testing.T) {
	noon := time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	marks := []store.Mark{
		{At: at(-10), Headline: session.ReadyHeadline}, {At: at(20), Headline: session.Working},
		{At: at(60), Headline: session.Done}, {At: at(70), Headline: session.Offline},
	}
	turns := []session.Turn{{Ended: at(60), Outcome: &session.LastTurn{Verdict: session.VerdictOK}}, {Began: at(90)}, {Ended: at(300), Outcome: &session.LastTurn{}}}
	v := timelineView("s_1", marks, turns, at(0), at(100), at(50), at(100))
	var got []string
	for _, l := range v.Lanes {
		for _, bar := range l.Bars {
			got = append(got, fmt.Sprintf("%s %s+%s", l.State.Headline, bar.X, bar.Width))
		}
	}
	if want := "working 20.00%+40.00%, done 60.00%+10.00%, ready 0.00%+20.00%, offline 70.00%+30.00%"; strings.Join(got, ", ") != want {
		t.Errorf("bars %q, want %q", got, want)
	}
	if v.At != "50.00%" || len(v.Ticks) != 1 || v.Ticks[0].X != "60.00%" || v.Ticks[0].Headline != "done" {
		t.Errorf("at %s, ticks %+v", v.At, v.Ticks)
	}
	if !strings.HasSuffix(v.Label, ": working 40 m, done 10 m, ready 20 m, offline 30 m.") {
		t.Errorf("label %q", v.Label)
	}
	one := timelineView("s_1", marks[:1], nil, at(0), at(0), at(0), at(0))
	if len(one.Lanes) != 1 || one.At != "0.00%" {
		t.Errorf("no time at all: %+v", one)
	}
}

// The end of a turn and what the session did by it are one event.
func TestAnEventIsToldOnce(t *testing.T) {
	noon := time.Date(2026, 8, 12, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	turn := func(end int, v session.Verdict) session.Turn {
		return session.Turn{Ended: at(end), Outcome: &session.LastTurn{Verdict: v, Detail: "no quota"}}
	}
	mark := func(s int, h session.Headline, moment int64) store.Mark {
		return store.Mark{At: at(s), Headline: h, Moment: moment}
	}
	for name, c := range map[string]struct {
		marks []store.Mark
		turns []session.Turn
		want  string
	}{
		"each with its own": {
			[]store.Mark{mark(0, session.Working, 1), mark(1, session.FailedHeadline, 2), mark(2, session.Working, 3), mark(3, session.FailedHeadline, 4)},
			[]session.Turn{turn(1, session.VerdictFailed), turn(3, session.VerdictFailed)},
			"Turn failed at=4, Working at=3, Turn failed at=2, Working at=1",
		},
		"stopped": {
			[]store.Mark{mark(0, session.Working, 1), mark(1, session.ReadyHeadline, 2)},
			[]session.Turn{turn(1, session.VerdictKilled)},
			"Turn stopped at=2, Working at=1",
		},
		"another's, and none": {
			[]store.Mark{mark(0, session.Done, 1), mark(60, session.Done, 2)},
			[]session.Turn{turn(1, session.VerdictFailed), turn(75, session.VerdictOK), {Began: at(80)}},
			"Turn done t=2026-08-12T12%3A01%3A15Z, Done at=2, Turn failed t=2026-08-12T12%3A00%3A01Z, Done at=1",
		},
	} {
		var got []string
		for _, e := range eventsOf("s_1", c.marks, c.turns, nil, at(100)) {
			got = append(got, e.State.Words+" "+strings.TrimPrefix(e.Href, "/sessions/s_1/history?"))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestSilentExternalSessionsAreOfflineInTheTimeline(t *testing.T) {
	now := time.Now()
	marks := []store.Mark{{At: now.Add(-time.Hour), Headline: session.Working}}
	external := session.Session{Runtime: session.External}
	if got := silent(marks, external, now.Add(-time.Hour), now); len(got) != 2 || got[1].Headline != session.Offline || !got[1].At.Equal(now.Add(-time.Hour+session.ExternalSilence)) {
		t.Errorf("%+v", got)
	}
	for name, got := range map[string][]store.Mark{
		"just pushed":  silent(marks, external, now.Add(-time.Minute), now),
		"a runner's":   silent(marks, session.Session{Runtime: session.Tmux}, now.Add(-time.Hour), now),
		"marked so":    silent([]store.Mark{{Headline: session.Offline}}, external, now.Add(-time.Hour), now),
		"it has ended": silent([]store.Mark{{Headline: session.EndedHeadline}}, external, now.Add(-time.Hour), now),
	} {
		if len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAwaySentence(t *testing.T) {
	ok, failed := session.Turn{Outcome: &session.LastTurn{Verdict: session.VerdictOK}}, session.Turn{Outcome: &session.LastTurn{Verdict: session.VerdictFailed}}
	ask := func(id string) store.Mark { return store.Mark{Headline: session.NeedsYou, Prompt: id} }
	working, done, lost := store.Mark{Headline: session.Working}, store.Mark{Headline: session.Done}, store.Mark{Headline: session.Offline}
	for want, tt := range map[string]struct {
		marks   []store.Mark
		turns   []session.Turn
		answers []store.Answered
	}{
		"":                               {marks: []store.Mark{working, lost}},
		"2 turns done, 1 turn failed.":   {marks: []store.Mark{done}, turns: []session.Turn{ok, failed, ok, {}}},
		"1 turn done.":                   {marks: []store.Mark{working, done}},
		"1 question answered from here.": {marks: []store.Mark{ask("p1"), working}, answers: []store.Answered{{Prompt: "p1"}}},
		"1 question answered elsewhere or gone, 1 question waits.": {marks: []store.Mark{ask("p1"), working, ask("p2"), lost, ask("p2")}},
	} {
		if got := awaySentence(tt.marks, tt.turns, tt.answers); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What happened since the owner last looked is told until they have been away again.
func TestAway(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Codex)
	page, history := "/sessions/"+id, "/sessions/"+id+"/history"
	free := func(pane string) object {
		return object{"pane": pane, "engineRuntime": "child-process", "runState": "idle"}
	}
	b.push(id, free("a"))
	if doc := p.get(page).want(http.StatusOK).page(); doc.Find("[data-testid=away-link]").Length() != 0 {
		t.Error("away before the first visit")
	}
	b.later(30 * time.Minute)
	b.push(id, object{"pane": "b", "engineRuntime": "child-process", "prompt": question})
	prompt := b.api("GET", "/sessions/"+id+"/capture", nil).object()["prompt"].(object)["id"].(string)
	if err := b.store.AddAnswer(bg, session.ID(id), store.Answered{At: b.now(), Prompt: prompt, Title: "Run make?", Answer: "Yes", Author: session.ByOwner, Browser: "Safari on iPhone"}); err != nil {
		t.Fatal(err)
	}
	b.push(id, object{"pane": "c", "engineRuntime": "child-process", "runState": "idle", "lastTurn": object{"verdict": "failed", "at": "2026-08-12T12:00:00Z", "detail": "no quota"}})
	for range 2 { // also after a reload
		doc := p.get(page).want(http.StatusOK).page()
		if got := find(t, doc, "away-link").Text(); got != "While you were away: 1 turn failed, 1 question answered from here." {
			t.Errorf("the page says %q", got)
		}
	}
	doc := p.get(history).page()
	if got := find(t, doc, "away").Text(); !strings.Contains(got, "“Yes” to “Run make?”, by you (Safari on iPhone)") || !strings.Contains(got, "no quota") {
		t.Errorf("history tells %q", got)
	}
	b.later(time.Hour)
	if doc := p.get(history).page(); doc.Find("[data-testid=away]").Length() != 0 {
		t.Error("nothing happened, and something is told")
	}
}

func TestAnswersAreKeptWithWhoGaveThem(t *testing.T) {
	for want, a := range map[string]store.Answered{
		"“Yes” to “Run make?”, by you (Safari on iPhone)": {Answer: "Yes", Title: "Run make?", Author: session.ByOwner, Browser: "Safari on iPhone"},
		"“No” to “Sure?”, by the Pilot":                   {Answer: "No", Title: "Sure?", Author: session.ByPilot},
		"“x” to “y”, by a script (token ci)":              {Answer: "x", Title: "y", Author: session.ByScript, Browser: "token ci"},
		"“x” to “y”, by somebody":                         {Answer: "x", Title: "y"},
	} {
		if got := answerLine(a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRetentionIsChosenOnTheSettingsPage(t *testing.T) {
	b := start(t)
	p := b.signIn()
	b.push(b.external(session.Codex), object{"pane": "x"})
	doc := p.get("/settings").want(http.StatusOK).page()
	if got := doc.Find("#history-age option[selected]").Text() + ", " + doc.Find("#history-size option[selected]").Text(); got != "30 days, 16 MiB" {
		t.Errorf("at first %q", got)
	}
	if got := doc.Find("#history .muted").First().Text(); !strings.HasPrefix(got, "1 screen of all sessions: ") {
		t.Errorf("sizes %q", got)
	}
	p.post("/settings/history", map[string]string{"age": "7", "size": "64"}).want(http.StatusSeeOther)
	if keep, err := b.store.Retention(bg); err != nil || keep != (store.Retention{Age: 7 * 24 * time.Hour, Bytes: 64 << 20}) {
		t.Errorf("kept %+v, %v", keep, err)
	}
	for _, bad := range []map[string]string{{"age": "x", "size": "64"}, {"age": "7", "size": "0"}, {"age": "-1", "size": "64"}, {}} {
		p.post("/settings/history", bad).want(http.StatusBadRequest)
	}
}
