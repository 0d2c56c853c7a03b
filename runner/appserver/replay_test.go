package appserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

// replay plays a recorded conversation: what was written to the engine is asked of
// the Protocol, and what the engine wrote is read by it. It returns what the
// Protocol said, a line for each event.
type replay struct {
	t     *testing.T
	p     *Protocol
	ids   map[string]string // of requests: the recorded one to ours
	turns map[string]string // T1, T2 … in the order in which they were said
	open  *session.Prompt
	said  []string
	last  string // id of the item said last
	texts int

	rules
	script []string // what the person answers, in order: an option, or words
}

func newReplay(t *testing.T, level session.Trust) *replay {
	l, ok := LevelOf(level)
	if !ok {
		t.Fatalf("there is no level %s", level)
	}
	return &replay{
		t: t,
		p: New(Options{Dir: "/home/dev/demo-repo", Level: l, Version: "test"}), rules: newRules(t),
		ids: map[string]string{}, turns: map[string]string{},
	}
}

// line is one of a recording: '>' to the engine, '<' from it.
type recorded struct {
	dir   byte
	frame []byte
}

func load(t testing.TB, name string) []recorded {
	file, err := os.Open(filepath.Join("..", "..", "testdata", "streams", "codex", "app-server", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []recorded
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<22)
	for scan.Scan() {
		text := scan.Bytes()
		if len(text) > 2 && text[1] == ' ' {
			lines = append(lines, recorded{text[0], append([]byte{}, text[2:]...)})
			continue
		}
		var in struct {
			Dir   string          `json:"dir"`
			Frame json.RawMessage `json:"frame"`
		}
		if err := json.Unmarshal(text, &in); err != nil || len(in.Dir) != 1 {
			t.Fatalf("%s: %s", name, text)
		}
		lines = append(lines, recorded{in.Dir[0], in.Frame})
	}
	if err := scan.Err(); err != nil || len(lines) == 0 {
		t.Fatalf("%s: %d lines, %v", name, len(lines), err)
	}
	return lines
}

// play plays a whole recording.
func (r *replay) play(name string) []string {
	for _, l := range load(r.t, name) {
		switch l.dir {
		case '<':
			r.read(l.frame)
		case '>':
			r.wrote(l.frame)
		}
	}
	return r.said
}

// read hands the engine's line over, with its answers bound to our requests.
func (r *replay) read(line []byte) {
	var f map[string]json.RawMessage
	if json.Unmarshal(line, &f) == nil && f["method"] == nil {
		ours, ok := r.ids[string(f["id"])]
		if !ok {
			return // of a request that we do not make
		}
		f["id"] = json.RawMessage(ours)
		line, _ = json.Marshal(f)
	}
	events, lines := r.p.Read(line)
	r.say(events)
	r.bind(lines, nil)
}

// wrote asks of the Protocol what was asked of the engine.
func (r *replay) wrote(line []byte) {
	var f struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Thread  string `json:"threadId"`
			Message string `json:"clientUserMessageId"`
			Input   []struct {
				Text string `json:"text"`
			} `json:"input"`
		} `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
	switch f.Method {
	case "initialize":
		r.bind(r.p.Begin(r.thread()), f.ID)
	case "thread/start", "thread/resume": // it asks for that by itself
		r.ids[string(f.ID)] = r.ids["thread"]
	case "turn/start", "turn/steer":
		r.texts++
		id := f.Params.Message
		if id == "" {
			id = fmt.Sprintf("m%d", r.texts)
		}
		lines, err := r.p.Say(talk.Message{ID: id, Text: f.Params.Input[0].Text, Steer: f.Method == "turn/steer"})
		if err != nil {
			r.said = append(r.said, fmt.Sprintf("(%s: %v)", id, err))
			return
		}
		r.bind(lines, f.ID)
	case "turn/interrupt":
		r.bind(r.p.Interrupt(), f.ID)
	case "":
		if f.Result != nil {
			r.answer()
		}
	}
}

// thread is the one that a recording goes on with.
func (r *replay) thread() string {
	for _, l := range load(r.t, filepath.Base(r.t.Name())) {
		var f struct {
			Method string `json:"method"`
			Params struct {
				Thread string `json:"threadId"`
			} `json:"params"`
		}
		if json.Unmarshal(l.frame, &f) == nil && f.Method == "thread/resume" {
			return f.Params.Thread
		}
	}
	return ""
}

// answer answers what is open, from the script, until a result is written.
func (r *replay) answer() {
	for r.open != nil && len(r.script) > 0 {
		words := r.script[0]
		r.script = r.script[1:]
		r.said = append(r.said, "? "+words)
		r.last = ""
		in := session.Answer{Digest: r.open.Digest, Text: words}
		if slices.ContainsFunc(r.open.Options, func(o session.Option) bool { return o.Option == words }) {
			in = session.Answer{Digest: r.open.Digest, Option: words}
		}
		events, lines, err := r.p.Answer(in)
		if err != nil {
			r.said = append(r.said, "("+err.Error()+")")
		}
		r.say(events)
		for _, line := range lines {
			r.said = append(r.said, "writes "+string(line))
		}
		if len(lines) > 0 {
			return
		}
	}
}

// bind remembers the ids of our requests, and under which one they were recorded.
func (r *replay) bind(lines [][]byte, id json.RawMessage) {
	for _, line := range lines {
		var f struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		r.checkLine(line)
		json.Unmarshal(line, &f)
		switch {
		case strings.HasPrefix(f.Method, "thread/"):
			r.ids["thread"] = string(f.ID)
		case f.Method == "" || f.ID == nil:
		case id != nil:
			r.ids[string(id)] = string(f.ID)
		}
	}
}

func (r *replay) turn(id string) string {
	if id == "" {
		return "-"
	}
	if r.turns[id] == "" {
		r.turns[id] = fmt.Sprintf("T%d", len(r.turns)+1)
	}
	return r.turns[id]
}

// say writes events down. Of an item's states one after another only the last stays.
func (r *replay) say(events []talk.Event) {
	for _, e := range events {
		r.check(e)
		line, item := "", ""
		switch e := e.(type) {
		case talk.Ready:
			line = "ready"
		case talk.LostThread:
			line = "lost thread: " + e.Words
		case talk.Refusing:
			line = "refusing: " + e.Words
		case talk.Accepted:
			line = fmt.Sprintf("accepted %s for %s", e.Message, r.turn(e.Turn))
		case talk.Rejected:
			line = fmt.Sprintf("rejected %s: %s", e.Message, e.Words)
			if e.Later {
				line += " (later)"
			}
		case talk.Began:
			line = "began " + r.turn(e.Turn)
		case talk.Echoed:
			line = fmt.Sprintf("echoed %s in %s", e.Message, r.turn(e.Turn))
		case talk.Blocked:
			line = fmt.Sprintf("blocked in %s %v", r.turn(e.Turn), e.Entries)
		case talk.Ended:
			line = fmt.Sprintf("ended %s %s", r.turn(e.Turn), e.Outcome.Verdict)
			if e.Outcome.Produced != nil && *e.Outcome.Produced {
				line += " produced"
			}
			if e.Silent {
				line += " silent"
			}
			if e.Limited {
				line += " limited"
			}
			if e.Usage != nil {
				line += fmt.Sprintf(" %d/%d", e.Usage.Input, e.Usage.Output)
			}
			if e.Outcome.Detail != "" {
				line += ": " + e.Outcome.Detail
			}
		case talk.Using:
			continue
		case talk.Working:
			line = string(e.State)
		case talk.PromptOpened:
			prompt := e.Prompt
			r.open = &prompt
			line = fmt.Sprintf("asks %s %q", prompt.Kind, prompt.Title)
		case talk.PromptClosed:
			if r.open == nil || r.open.Digest != e.Digest {
				r.t.Error("a prompt closes that was not open")
			}
			r.open = nil
			line = "asks no more"
		case talk.Changed:
			it := e.Item
			item = it.ID
			line = fmt.Sprintf("%s %s", it.Kind, it.State)
			if it.Title != "" {
				line += fmt.Sprintf(" %q", session.Line(it.Title, 60))
			}
			if it.ExitCode != nil {
				line += fmt.Sprintf(" (%d)", *it.ExitCode)
			}
			if it.Text != "" {
				line += fmt.Sprintf(": %s", session.Line(it.Text, 50))
			}
		case talk.Said:
			line = "said " + session.Line(e.Line, 50)
		default:
			r.t.Fatalf("%T", e)
		}
		if item != "" && item == r.last {
			r.said[len(r.said)-1] = line
		} else {
			r.said = append(r.said, line)
		}
		r.last = item
	}
}

func TestRecordings(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "recordings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n-- ")
	wants := map[string][]string{}
	for section := range strings.SplitSeq(rest, "\n-- ") {
		name, text, _ := strings.Cut(section, " --\n")
		wants[name] = strings.Split(strings.TrimSpace(text), "\n")
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "streams", "codex", "app-server", "*.jsonl"))
	if len(files) != len(wants) || len(files) == 0 {
		t.Errorf("%d recordings and what is wanted of %d", len(files), len(wants))
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		t.Run(name, func(t *testing.T) {
			r := newReplay(t, session.TrustEdit)
			for _, line := range wants[name] {
				if words, ok := strings.CutPrefix(line, "? "); ok {
					r.script = append(r.script, words)
				}
			}
			got := r.play(name)
			for i := range max(len(got), len(wants[name])) {
				if i >= len(got) || i >= len(wants[name]) || got[i] != wants[name][i] {
					at := min(i, len(got))
					t.Fatalf("line %d is not what is wanted; it goes on so:\n%s", i+1, strings.Join(got[at:], "\n"))
				}
			}
			r.say(r.p.Gone())
			if r.open != nil {
				t.Error("a prompt is open though the process is gone")
			}
		})
	}
}
