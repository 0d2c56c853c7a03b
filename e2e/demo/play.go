package main

import (
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

func ptr[T any](v T) *T { return &v }

// ok and failed are ends of turns.
var ok = session.LastTurn{Verdict: session.VerdictOK}

func failed(code int, detail string) session.LastTurn {
	return session.LastTurn{Verdict: session.VerdictFailed, ExitCode: &code, Detail: detail}
}

// One-shot engines --------------------------------------------------------------

// textRest shows a one-shot session that is free.
func textRest(h *held) {
	h.push(func(s *session.Snapshot) {
		yes := true
		s.Alive, s.Ready, s.RunState, s.EngineRuntime, s.Problem = &yes, &yes, session.Idle, session.ChildProcess, ""
	})
}

// textTurn answers a message that nothing is recorded for.
func textTurn(t *turn) {
	textReply(ok, "This is the demo: no engine runs here. A real one would do now what you asked for.")(t)
}

// textReply plays a one-shot turn that prints lines and ends like last.
func textReply(last session.LastTurn, lines ...string) func(*turn) {
	return func(t *turn) {
		t.began()
		write := func(line string) {
			t.push(func(s *session.Snapshot) { s.Pane += line + "\n"; s.RunState = session.Responding })
		}
		write("❯ [" + time.Now().Format("15:04:05") + "] " + strings.ReplaceAll(t.text, "\n", "\n  "))
		for _, line := range lines {
			if !t.pause(150 * time.Millisecond) {
				return
			}
			write(line)
		}
		how := ""
		switch {
		case last.Signal != nil:
			how = "ended by " + *last.Signal
		case last.ExitCode != nil && *last.ExitCode != 0:
			how = fmt.Sprintf("exited with code %d", *last.ExitCode)
		}
		t.ended(last, nil, func(s *session.Snapshot) {
			if how != "" {
				s.Pane += "[" + string(t.scene.engine) + " " + how + "]\n"
			}
		})
	}
}

// Engines on a screen --------------------------------------------------------------

// screenRest shows a recorded screen as the one that stands.
func screenRest(snap session.Snapshot) func(*held) {
	return func(h *held) { h.shows(snap) }
}

// screenReply plays recorded screens, one a while, and ends with the last.
func screenReply(every time.Duration, last session.LastTurn, screens ...session.Snapshot) func(*turn) {
	return func(t *turn) {
		for i, screen := range screens {
			if i > 0 && !t.pause(every) {
				return
			}
			t.shows(screen)
			if i == 0 {
				t.began()
			}
		}
		t.ended(last, nil, func(*session.Snapshot) {})
	}
}

// screenAsks plays a turn that stops at a question until the owner answers.
func screenAsks(works, question, after, done session.Snapshot) func(*turn) {
	return func(t *turn) {
		t.shows(works)
		t.began()
		if !t.pause(400 * time.Millisecond) {
			return
		}
		t.shows(question)
		if !t.asks(func(session.Answer) { t.shows(after) }) || !t.pause(2*time.Second) {
			return
		}
		t.shows(done)
		t.ended(ok, nil, func(*session.Snapshot) {})
	}
}

// screenWorks plays a turn that does not end while the demo runs.
func screenWorks(frames ...session.Snapshot) func(*turn) {
	return func(t *turn) {
		t.shows(frames[0])
		t.began()
		for i := 1; t.pause(900 * time.Millisecond); i++ {
			t.shows(frames[i%len(frames)])
		}
	}
}

// Structured engines ------------------------------------------------------------------

// talkRest shows a structured session that is free.
func talkRest(h *held) {
	h.push(func(s *session.Snapshot) {
		yes := true
		s.Alive, s.Ready, s.RunState, s.EngineRuntime = &yes, &yes, session.Idle, h.scene.runtime
	})
}

// talk plays items of a conversation, growing where they are long, and ends like
// last; one without a verdict does not end while the demo runs.
func talk(last session.LastTurn, usage *session.Usage, ask *session.Prompt, items ...session.Item) func(*turn) {
	return func(t *turn) {
		now := time.Now().UTC()
		owner := session.Item{ID: t.id + "-owner", Turn: t.id, Kind: session.ItemOwner, Text: t.text, Message: t.message, At: now}
		t.began(owner)
		text := "❯ [" + time.Now().Format("15:04") + "] " + t.text + "\n"
		t.push(func(s *session.Snapshot) { s.Pane += text })
		for i, item := range items {
			item.ID, item.Turn, item.At = fmt.Sprintf("%s-%d", t.id, i), t.id, time.Now().UTC()
			if !t.says(item) {
				return
			}
		}
		if ask != nil {
			prompt := *ask
			prompt.Digest = session.NewID("d")
			t.push(func(s *session.Snapshot) { s.Prompt = &prompt })
			if !t.asks(func(session.Answer) { t.push(func(s *session.Snapshot) { s.Prompt = nil }) }) || !t.pause(2*time.Second) {
				return
			}
			done := session.Item{ID: t.id + "-done", Turn: t.id, Kind: session.ItemAnswer, Text: "Done. The change is in place and the tests pass.", At: time.Now().UTC()}
			if !t.says(done) {
				return
			}
		}
		if last.Verdict == "" {
			<-t.ctx.Done()
			return
		}
		t.ended(last, usage, func(*session.Snapshot) {})
	}
}

// says shows an item, an answer word by word.
func (t *turn) says(item session.Item) bool {
	words := strings.SplitAfter(item.Text, " ")
	if item.Kind != session.ItemAnswer {
		words = []string{item.Text}
	}
	item.State, item.Text = session.ItemRunning, ""
	for i, word := range words {
		item.Text += word
		if i%4 == 3 || i == len(words)-1 {
			if i == len(words)-1 {
				item.State, item.Ended = session.ItemDone, time.Now().UTC()
			}
			t.report(func(s *session.Snapshot) { s.RunState = session.Responding }, nil, []session.Item{item})
			if !t.pause(60 * time.Millisecond) {
				return false
			}
		}
	}
	t.push(func(s *session.Snapshot) { s.Pane += paneText(item) })
	return true
}

// paneText is an item as the pane has it.
func paneText(item session.Item) string {
	switch item.Kind {
	case session.ItemCommand:
		return "$ " + item.Title + "\n" + indent(item.Text)
	case session.ItemEdit:
		return "edited " + item.Title + "\n" + indent(item.Text)
	}
	return item.Text + "\n"
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
