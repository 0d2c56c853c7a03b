package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"signalbox/desk"
	"signalbox/session"
)

func TestAWrongStatusIsSavedAsACase(t *testing.T) {
	b := start(t)
	p := b.signIn()
	id := b.external(session.Codex)
	wrong := "/sessions/" + id + "/wrong"
	p.post(wrong, map[string]string{"want": "completed"}).want(http.StatusConflict)
	if doc := p.get("/cases").want(http.StatusOK).page(); doc.Find("[data-testid=case]").Length() != 0 || !strings.Contains(doc.Text(), "None saved") {
		t.Error("cases before there is one")
	}
	b.push(id, object{"pane": "› \n\nTOKEN=hunter2 first\n", "cols": 80, "rows": 24})
	b.push(id, object{"pane": "› \n\nsecond\n", "cols": 80, "rows": 24})
	page := p.get("/sessions/" + id).page()
	if n := find(t, page, "wrong").Find("button").Length(); n != 5 {
		t.Errorf("%d things that it could have been", n)
	}
	history := p.get("/sessions/" + id + "/history?at=1").page()
	attr(t, find(t, history, "wrong").Find("[name=at]"), "value", "1")

	to := p.post(wrong, map[string]string{"want": "waiting_user_answer", "at": "1"}).want(http.StatusSeeOther).header.Get("Location")
	p.post(wrong, map[string]string{"want": "completed"}).want(http.StatusSeeOther)
	p.post(wrong, map[string]string{"want": "lovely"}).want(http.StatusBadRequest)
	p.post(wrong, map[string]string{"want": "completed", "at": "99"}).want(http.StatusNotFound)
	p.post("/sessions/s_0/wrong", map[string]string{"want": "completed"}).want(http.StatusNotFound)

	doc := p.get(strings.Split(to, "#")[0]).want(http.StatusOK).page()
	cases := doc.Find("[data-testid=case]")
	if cases.Length() != 2 || !strings.Contains(doc.Find(".flash").Text(), "secrets masked") {
		t.Fatalf("%d cases: %s", cases.Length(), doc.Find("main").Text())
	}
	first := cases.Last()
	cid := first.AttrOr("data-case", "")
	if text := first.Text(); !strings.Contains(text, "it was “Waiting for me”") || !strings.Contains(text, "TOKEN=xxxxxxx first") || to != "/cases?saved="+cid+"#"+cid {
		t.Errorf("the case says %q, saved at %s", text, to)
	}
	file := p.get("/cases/" + cid + ".jsonl").want(http.StatusOK)
	var f desk.CaseFile
	if err := json.Unmarshal([]byte(file.body), &f); err != nil || f.ID != cid || strings.Contains(file.body, "hunter2") || f.Want[0] != session.StatusWaiting || strings.Count(file.body, "\n") != 1 {
		t.Errorf("the file is %s: %v", file.body, err)
	}
	if d := file.header.Get("Content-Disposition"); d != `attachment; filename="`+cid+`.jsonl"` {
		t.Errorf("it is called %q", d)
	}
	if all := p.get("/cases.jsonl").want(http.StatusOK).body; strings.Count(all, "\n") != 2 {
		t.Errorf("all of them are %q", all)
	}
	p.get("/cases/" + cid).want(http.StatusNotFound)
	p.get("/cases/case_0.jsonl").want(http.StatusNotFound)
	p.post("/cases/"+cid+"/delete", nil).want(http.StatusSeeOther)
	p.get("/cases/" + cid + ".jsonl").want(http.StatusNotFound)
}

func TestCaseNotes(t *testing.T) {
	for want, f := range map[string]desk.CaseFile{
		"":                      {Runtime: session.Tmux, Replays: session.StatusIdle, Got: desk.CaseReading{Status: session.StatusIdle}},
		"By itself this screen": {Runtime: session.Tmux, Replays: session.StatusUnknown, Got: desk.CaseReading{Status: session.StatusIdle}},
		"This status did not":   {Runtime: session.AppServer, Replays: session.StatusUnknown, Got: desk.CaseReading{Status: session.StatusUnknown}},
	} {
		if got := caseNote(f); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
