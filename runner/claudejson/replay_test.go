package claudejson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

const streams = "../../testdata/streams/claude/live/"

// replay plays a recording: what was written to the engine is asked of the
// Protocol, what the engine wrote is read by it. It keeps a line for each event.
type replay struct {
	t    testing.TB
	p    Protocol
	said []string
	open *session.Prompt
	last session.Item
	msgs int
}

func (r *replay) take(events []talk.Event) {
	for _, e := range events {
		if line := r.line(e); line != "" {
			r.said = append(r.said, line)
		}
	}
}

func (r *replay) line(e talk.Event) string {
	switch e := e.(type) {
	case talk.Ready:
		return strings.TrimSpace("ready " + short(e.Thread, 8))
	case talk.LostThread:
		return "lost its thread: " + e.Words
	case talk.Refusing:
		return "refuses: " + e.Words
	case talk.Accepted:
		return strings.TrimSuffix("accepted "+e.Message+" in "+e.Turn, " in ")
	case talk.Rejected:
		return fmt.Sprintf("rejected %s: %s", e.Message, e.Words)
	case talk.Began:
		return "began " + e.Turn
	case talk.Echoed:
		return "echoed " + e.Message + " in " + e.Turn
	case talk.Blocked:
		return fmt.Sprintf("blocked in %s %v", e.Turn, e.Entries)
	case talk.Ended:
		return endLine(e)
	case talk.PromptOpened:
		r.open = &e.Prompt
		var labels []string
		for _, o := range e.Prompt.Options {
			labels = append(labels, o.Label)
		}
		return fmt.Sprintf("asks %s %q %q [%s]", e.Prompt.Kind, e.Prompt.Title, short(e.Prompt.Body, 70), strings.Join(labels, "|"))
	case talk.PromptClosed:
		if r.open == nil || r.open.Digest != e.Digest {
			r.t.Errorf("a prompt closes that is not open: %s", e.Digest)
		}
		r.open = nil
		return "asks no more"
	case talk.Changed:
		return r.item(e.Item)
	case talk.Said:
		return "said " + short(e.Line, 60)
	}
	return ""
}

func endLine(e talk.Ended) string {
	s := "ended " + e.Turn + " " + string(e.Outcome.Verdict)
	if *e.Outcome.Produced {
		s += " produced"
	}
	if e.Silent {
		s += " silent"
	}
	if e.Outcome.RequestedBy != nil {
		s += " by " + *e.Outcome.RequestedBy
	}
	if u := e.Usage; u != nil {
		s += fmt.Sprintf(" %d+%d", u.Input, u.Output)
		if u.CostUSD != nil {
			s += fmt.Sprintf(" $%.5f", *u.CostUSD)
		}
	}
	if e.Limited {
		s += " limited until " + e.Resets.Format("15:04:05")
	}
	if e.Outcome.Detail != "" {
		s += ": " + e.Outcome.Detail
	}
	return s
}

// item leaves out the steps of an answer that is being written, but their last.
func (r *replay) item(it session.Item) string {
	if len(it.Text) > session.MaxItem {
		r.t.Errorf("an item of %d bytes", len(it.Text))
	}
	if it.State == session.ItemRunning && (it.Kind == session.ItemAnswer || it.Kind == session.ItemReasoning) {
		if it.ID == r.last.ID && !strings.HasPrefix(it.Text, r.last.Text) {
			r.t.Errorf("an answer that grows lost something: %q, then %q", r.last.Text, it.Text)
		}
		r.last = it
		return ""
	}
	s := string(it.Kind)
	if it.State != "" {
		s += "/" + string(it.State)
	}
	if it.Turn == "" {
		s += " between turns"
	}
	if it.ExitCode != nil {
		s += fmt.Sprintf(" code %d", *it.ExitCode)
	}
	if it.Title != "" {
		s += " " + short(it.Title, 60)
	}
	if it.Text != "" {
		s += ": " + short(it.Text, 60)
	}
	return s
}

func short(s string, n int) string {
	s = strings.ReplaceAll(s, "\n", "⏎")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func (r *replay) play(name string) {
	for _, l := range load(r.t, name) {
		if l.Dir == "in" {
			r.wrote(l.Event)
			continue
		}
		events, _ := r.p.Read(l.Event)
		r.take(events)
	}
}

type recorded struct {
	Dir   string          `json:"dir"` // "in" is to the engine, "out" from it
	Event json.RawMessage `json:"event"`
}

func load(t testing.TB, name string) (lines []recorded) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(bytes.NewReader(b))
	scan.Buffer(nil, 1<<22)
	for scan.Scan() {
		var l recorded
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// wrote asks of the Protocol what was asked of the engine.
func (r *replay) wrote(line []byte) {
	var f struct {
		Type    string
		UUID    string
		Label   string `json:"_"`
		Message struct{ Content []struct{ Text string } }
		Request struct{ Subtype string }
		Reply   struct {
			Response struct {
				Behavior  string
				Interrupt bool
				Input     struct{ Answers map[string]string } `json:"updatedInput"`
			}
		} `json:"response"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		r.said = append(r.said, "(wrote what is no JSON)")
		return
	}
	switch {
	case f.Type == "user":
		r.hello()
		r.msgs++
		id := f.Label
		if id == "" {
			id = fmt.Sprintf("m%d", r.msgs)
		}
		lines, err := r.p.Say(talk.Message{ID: id, Text: f.Message.Content[0].Text})
		if errors.Is(err, talk.ErrNotNow) {
			lines, err = r.p.Say(talk.Message{ID: id, Text: f.Message.Content[0].Text, Steer: true})
			r.said = append(r.said, "(steers "+id+")")
		}
		if err != nil || len(lines) == 0 {
			r.t.Errorf("%s: %v", id, err)
		} else if f.UUID != "" && !bytes.Contains(lines[0], []byte(f.UUID)) {
			r.t.Errorf("%s travelled as %s, now as %s", id, f.UUID, lines[0])
		}
	case f.Request.Subtype == "initialize":
		if r.p.hello != "" {
			r.take(r.p.Gone())
			r.said = append(r.said, "(started again)")
		}
		thread := r.p.thread
		if strings.HasSuffix(r.t.Name(), "/lost") {
			thread = "00000000-0000-4000-8000-000000000000"
		}
		r.p.Begin(thread)
		r.p.asked, r.p.hello = 1, "signalbox-1" // as a process that begins
		if bytes.Contains(line, []byte(`"r0"`)) {
			r.p.hello = "r0"
		}
	case f.Request.Subtype == "interrupt":
		if lines := r.p.Interrupt(); len(lines) != 1 {
			r.t.Errorf("an interrupt of %d lines", len(lines))
		}
		r.said = append(r.said, "(interrupts)")
	case f.Type == "control_response":
		r.answer(f.Reply.Response.Behavior, f.Reply.Response.Interrupt, f.Reply.Response.Input.Answers)
	}
}

// hello stands in for an initialize that a recording does not have.
func (r *replay) hello() {
	if r.p.hello == "" {
		r.p.Begin("")
		r.take(first(r.p.Read([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"signalbox-1"}}`))))
	} else if !r.p.ready { // recordings of old wrote before they were answered
		r.take(first(r.p.Read([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"` + r.p.hello + `"}}`))))
	}
}

func first(events []talk.Event, _ [][]byte) []talk.Event { return events }

// answer chooses what the recording's answer chose.
func (r *replay) answer(behavior string, stop bool, answers map[string]string) {
	if r.open == nil {
		r.t.Fatal("no prompt is open for an answer")
	}
	begins := map[string]string{"allow": "Yes", "deny": "No"}[behavior]
	if stop {
		begins = "No, and end"
	}
	for r.open != nil {
		o := session.Option{}
		for _, x := range r.open.Options {
			if picked, ok := answers[r.open.Title]; ok {
				ticked := strings.TrimPrefix(x.Label, "[ ] ")
				if x.Label != ticked && strings.Contains(picked, ticked) || x.Label == picked || x.Label == "Go on with "+picked {
					o = x
					break
				}
			} else if strings.HasPrefix(x.Label, begins) && begins != "" {
				o = x
				break
			}
		}
		if o.Option == "" {
			r.t.Fatalf("no option for %s %v in %v", behavior, answers, r.open.Options)
		}
		r.said = append(r.said, "(answers "+o.Label+")")
		events, lines, err := r.p.Answer(session.Answer{Digest: r.open.Digest, Option: o.Option})
		if err != nil {
			r.t.Fatal(err)
		}
		r.take(events)
		for _, l := range lines {
			r.said = append(r.said, "> "+short(string(l), 60))
			return
		}
	}
}

func TestRecorded(t *testing.T) {
	files, err := filepath.Glob(streams + "*/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, streams), ".jsonl")
		t.Run(name, func(t *testing.T) {
			r := &replay{t: t}
			r.play(file)
			r.take(r.p.Gone())
			want, ok := wants[name]
			if got := strings.Join(r.said, "\n"); !ok || got != strings.TrimSpace(want) {
				t.Errorf("got\n%s\n\nwant\n%s", got, strings.TrimSpace(want))
			}
		})
	}
}
