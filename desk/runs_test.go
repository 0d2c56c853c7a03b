package desk

import (
	"errors"
	"strings"
	"testing"
	"time"

	"signalbox/session"
)

// A run begins where something can be sent, in a folder that is fit, and alone.
func TestWhereARunMayBegin(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		verdict := session.WorkdirOK
		m := o.connect("a", func(c session.Command) (session.Result, bool) {
			if c.Do == session.DoWorkdir {
				return session.Result{OK: true, Workdir: &session.WorkdirReport{Verdict: verdict, Path: c.Dir}}, true
			}
			return obliging(c)
		})
		add := func(id session.ID, run string) error {
			return o.AddRun(t.Context(), session.Run{ID: run, Session: id, State: session.RunRunning, Goal: "goal", CreatedAt: o.Now()})
		}
		refused := func(what string, err error, kind error, words string) {
			t.Helper()
			if !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", what, err)
			}
		}
		id := o.codex("a")
		m.shows(id, idle)
		if err := add(id, "r_1"); err != nil {
			t.Fatal(err)
		}
		refused("a second one", add(id, "r_2"), session.ErrConflict, "pursues a goal in this session already")
		other := o.codex("a")
		if err := add(other, "r_3"); err != nil {
			t.Errorf("in another session: %v", err)
		}
		r, _, err := o.st.Run(t.Context(), "r_1")
		if err != nil {
			t.Fatal(err)
		}
		r.State, r.EndedAt = session.RunDone, time.Now()
		if err := o.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := add(id, "r_4"); err != nil {
			t.Errorf("after the first one's end: %v", err)
		}

		ext, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Runtime: session.External})
		if err != nil {
			t.Fatal(err)
		}
		refused("a session that is only watched", add(ext.ID, "r_5"), session.ErrConflict, "only watched")
		refused("no session", add("s_none", "r_6"), session.ErrNotFound, "")

		folder := o.codex("a")
		for v, refuses := range map[session.Workdir]bool{
			session.WorkdirMissing: true, session.WorkdirNotDir: true, session.WorkdirEmpty: true, session.WorkdirNotGit: true, session.WorkdirUnverified: false,
		} {
			verdict = v
			err := add(folder, "r_"+string(v))
			if errors.Is(err, session.ErrWorkdir) != refuses || !refuses && err != nil {
				t.Errorf("in a folder that is %s: %v", v, err)
			}
		}
		verdict = session.WorkdirEmpty
		known, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Dir: "/repo", Override: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := add(known.ID, "r_known"); err != nil {
			t.Errorf("in a folder that the owner took knowingly: %v", err)
		}
		gone, err := o.Create(t.Context(), NewSession{Engine: session.Codex, Dir: "/repo", Override: true})
		if err != nil {
			t.Fatal(err)
		}
		verdict = session.WorkdirMissing
		refused("in one that has gone since", add(gone.ID, "r_gone"), session.ErrWorkdir, "")

		verdict = session.WorkdirOK
		dead, no := o.codex("a"), false
		last := idle
		last.Alive = &no
		m.shows(dead, last)
		refused("an engine that is gone", add(dead, "r_dead"), session.ErrConflict, "not running")
		ended := o.codex("a")
		if err := o.Stop(t.Context(), ended); err != nil {
			t.Fatal(err)
		}
		refused("a session that was ended", add(ended, "r_ended"), session.ErrConflict, "has ended")
	})
}

// What a message's turn has used is told from the turn's record, in the journal that
// the message was sent to.
func TestWhatTheTurnOfAMessageUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, o *office) {
		m := o.connect("a", obliging)
		id := o.codex("a")
		m.shows(id, idle)
		one := o.say(id, "one")
		used := func(m session.Message) *session.Usage {
			t.Helper()
			u, err := o.TurnUsage(t.Context(), m)
			if err != nil {
				t.Error(err)
			}
			return u
		}
		if u := used(o.message(one)); u != nil {
			t.Errorf("before its turn is told of: %+v", u)
		}
		cost := 0.25
		m.shows(id, idle, session.TurnReport{Turn: "turn-of-one", Message: one, Outcome: &session.LastTurn{Verdict: session.VerdictOK}, Usage: &session.Usage{CostUSD: &cost}})
		sent := o.message(one)
		if u := used(sent); u == nil || u.CostUSD == nil || *u.CostUSD != cost {
			t.Errorf("used %+v", u)
		}
		if sent.Journal = "another"; used(sent) != nil {
			t.Error("a turn of another journal is taken for it")
		}
		if sent.Turn = ""; used(sent) != nil {
			t.Error("no turn has used something")
		}
	})
}
