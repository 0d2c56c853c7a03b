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
	find(t, p.get("/sessions/"+id).page(), "wrong")
	history := p.get("/sessions/" + id + "/history?at=1").page()
	attr(t, find(t, history, "wrong").Parent().Find("[name=at]"), "value", "1")

	// One tap saves; what it should have been may be said then, or never.
	back := p.post(wrong, map[string]string{"at": "1"}).want(http.StatusSeeOther).header.Get("Location")
	saved := find(t, p.get(back).want(http.StatusOK).page(), "wrong-saved")
	right, _ := saved.Find("form.rights").Attr("action")
	if n := saved.Find("form.rights button").Length(); n != 4 || !strings.Contains(saved.Text(), "read as “Unknown”.") {
		t.Errorf("%d things that it could have been: %s", n, saved.Text())
	}
	cid := strings.Split(right, "/")[2]
	if body := p.get("/cases/" + cid + ".jsonl").want(http.StatusOK).body; strings.Contains(body, `"want"`) {
		t.Errorf("nobody said what it was, and the file does: %s", body)
	}
	back2, _ := saved.Find("form.rights [name=back]").Attr("value")
	if back2 != back {
		t.Errorf("it leads back to %q, not to %q", back2, back)
	}
	p.post(right, map[string]string{"want": "lovely"}).want(http.StatusBadRequest)
	if to := p.post(right, map[string]string{"want": "waiting_user_answer", "back": back}).want(http.StatusSeeOther).header.Get("Location"); to != back {
		t.Errorf("then to %q", to)
	}
	saved = find(t, p.get(back).page(), "wrong-saved")
	if saved.Find("form.rights").Length() != 0 || !strings.Contains(saved.Text(), "it was “Waiting for me”") {
		t.Errorf("said already: %s", saved.Text())
	}
	to := "/cases?saved=" + cid + "#" + cid
	p.post(wrong, map[string]string{"want": "completed"}).want(http.StatusSeeOther)
	p.post(wrong, map[string]string{"want": "lovely"}).want(http.StatusBadRequest)
	p.post(wrong, map[string]string{"want": "completed", "at": "99"}).want(http.StatusNotFound)
	p.post("/sessions/s_0/wrong", map[string]string{"want": "completed"}).want(http.StatusNotFound)
	p.post("/cases/case_0/right", map[string]string{"want": "completed"}).want(http.StatusNotFound)

	doc := p.get(strings.Split(to, "#")[0]).want(http.StatusOK).page()
	cases := doc.Find("[data-testid=case]")
	if cases.Length() != 2 || !strings.Contains(doc.Find(".flash").Text(), "secrets masked") {
		t.Fatalf("%d cases: %s", cases.Length(), doc.Find("main").Text())
	}
	first := cases.Last()
	attr(t, first, "data-case", cid)
	if text := first.Text(); !strings.Contains(text, "it was “Waiting for me”") || !strings.Contains(text, "TOKEN=xxxxxxx first") {
		t.Errorf("the case says %q", text)
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
	if p.get(back).want(http.StatusOK).page().Find("[data-testid=wrong-saved]").Length() != 0 {
		t.Error("what was forgotten is shown")
	}
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
