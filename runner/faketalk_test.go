package runner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	signal2 "os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"signalbox/runner/talk"
	"signalbox/session"
)

// The protocol of the tests: a line of JSON is an event, and a line to the engine is
// a call. It has no state of its own, so that a scripted engine can say anything.
type fakeTalk struct{ open map[string]session.Prompt }

// said is one event on the wire.
type wireEvent struct {
	Do      string           `json:"do"`
	Turn    string           `json:"turn,omitempty"`
	Message string           `json:"message,omitempty"`
	Words   string           `json:"words,omitempty"`
	Kind    string           `json:"kind,omitempty"`
	Later   bool             `json:"later,omitempty"`
	Silent  bool             `json:"silent,omitempty"`
	Verdict session.Verdict  `json:"verdict,omitempty"`
	State   session.RunState `json:"state,omitempty"`
	Item    *session.Item    `json:"item,omitempty"`
	Prompt  *session.Prompt  `json:"prompt,omitempty"`
	Call    string           `json:"call,omitempty"` // to the engine
	Text    string           `json:"text,omitempty"`
	Steer   bool             `json:"steer,omitempty"`
	Answer  *session.Answer  `json:"answer,omitempty"`
	Usage   *session.Usage   `json:"usage,omitempty"`
}

func (e wireEvent) line() []byte {
	b, _ := json.Marshal(e)
	return b
}

func (f *fakeTalk) Begin(thread string) [][]byte {
	return [][]byte{wireEvent{Call: "begin", Text: thread}.line()}
}

func (f *fakeTalk) Say(m talk.Message) ([][]byte, error) {
	if strings.HasPrefix(m.Text, "NOTNOW") {
		return nil, talk.ErrNotNow
	}
	return [][]byte{wireEvent{Call: "say", Message: m.ID, Text: m.Text, Steer: m.Steer}.line()}, nil
}

func (f *fakeTalk) Interrupt() [][]byte { return [][]byte{wireEvent{Call: "interrupt"}.line()} }

func (f *fakeTalk) Answer(a session.Answer) ([]talk.Event, [][]byte, error) {
	if _, open := f.open[a.Digest]; !open {
		return nil, nil, talk.ErrStale
	}
	return nil, [][]byte{wireEvent{Call: "answer", Answer: &a}.line()}, nil
}

func (f *fakeTalk) Gone() (events []talk.Event) {
	for d := range f.open {
		events = append(events, talk.PromptClosed{Digest: d}, talk.Said{Line: "gone with a question open"})
	}
	return events
}

func (f *fakeTalk) Read(line []byte) ([]talk.Event, [][]byte) {
	var e wireEvent
	if json.Unmarshal(line, &e) != nil || e.Do == "" {
		return []talk.Event{talk.Said{Line: string(line)}}, nil
	}
	switch e.Do {
	case "ready":
		return []talk.Event{talk.Ready{Thread: e.Text}}, nil
	case "lost":
		return []talk.Event{talk.LostThread{Words: e.Words}}, nil
	case "refusing":
		return []talk.Event{talk.Refusing{Words: e.Words}}, nil
	case "accepted":
		return []talk.Event{talk.Accepted{Message: e.Message, Turn: e.Turn}}, nil
	case "rejected":
		return []talk.Event{talk.Rejected{Message: e.Message, Words: e.Words, Later: e.Later}}, nil
	case "began":
		return []talk.Event{talk.Began{Turn: e.Turn}}, nil
	case "echoed":
		return []talk.Event{talk.Echoed{Turn: e.Turn, Message: e.Message}}, nil
	case "blocked":
		return []talk.Event{talk.Blocked{Turn: e.Turn, Entries: []talk.Entry{{Kind: e.Kind, Text: e.Words}}}}, nil
	case "ended":
		return []talk.Event{talk.Ended{Turn: e.Turn, Outcome: session.LastTurn{Verdict: e.Verdict, Detail: e.Words}, Silent: e.Silent, Usage: e.Usage}}, nil
	case "working":
		return []talk.Event{talk.Working{State: e.State}}, nil
	case "item":
		return []talk.Event{talk.Changed{Item: *e.Item}}, nil
	case "asks":
		if f.open == nil {
			f.open = map[string]session.Prompt{}
		}
		f.open[e.Prompt.Digest] = *e.Prompt
		return []talk.Event{talk.PromptOpened{Prompt: *e.Prompt}}, nil
	case "closed":
		delete(f.open, e.Text)
		return []talk.Event{talk.PromptClosed{Digest: e.Text}}, nil
	}
	return nil, nil // of a later engine
}

func init() {
	TalkPresets = append(TalkPresets, TalkPreset{
		Engine: session.Generic, Runtime: session.AppServer, Program: "talker", First: "talk", Again: "talk", Says: true,
		Trusts:   []TrustFlags{{Trust: session.TrustEdit}, {Trust: session.TrustAsk}},
		protocol: func(session.Spec, string) talk.Protocol { return &fakeTalk{} },
	})
}

// talker is the scripted engine, played by the test binary. Each text is a script:
// words apart by "; ", one step each. In a step %T is its turn, %M its message. Steps
// are events ("began", "ended ok", …) or acts ("exit 3", "wait", "half", …); a text
// that is no script gets an answer. TALK_START says how it starts, TALK_LOG where it
// writes what it was sent.
type talker struct {
	stays atomic.Bool // beyond the end of its input
	out   *bufio.Writer
	calls chan wireEvent
	turns int
}

const ordinary = "accepted; began; echoed; answer Hello from the engine.; ended ok"

func playTalker() {
	w := &talker{out: bufio.NewWriter(os.Stdout), calls: make(chan wireEvent, 64)}
	log, _ := os.OpenFile(os.Getenv("TALK_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	go func() {
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				if w.stays.Load() {
					time.Sleep(time.Hour)
				}
				os.Exit(0)
			}
			log.Write(line)
			var e wireEvent
			json.Unmarshal(line, &e)
			w.calls <- e
		}
	}()
	fmt.Fprintln(log, "pid", os.Getpid())
	start, _ := os.ReadFile(os.Getenv("TALK_START"))
	switch start := strings.TrimSpace(string(start)); {
	case start == "":
	case start == "mute":
		time.Sleep(time.Hour)
	case strings.HasPrefix(start, "dies "):
		fmt.Fprintln(os.Stderr, strings.TrimPrefix(start, "dies "))
		os.Exit(7)
	}
	for e := range w.calls {
		switch e.Call {
		case "begin":
			switch start := string(start); {
			case strings.HasPrefix(start, "refuses "):
				w.say(wireEvent{Do: "refusing", Words: strings.TrimPrefix(start, "refuses ")})
			case strings.HasPrefix(start, "forgets") && e.Text != "":
				w.say(wireEvent{Do: "lost", Words: "no such thread"})
			case strings.HasPrefix(start, "loses") && e.Text != "": // as Claude: by its own end
				fmt.Fprintln(os.Stderr, "No conversation found with session ID: "+e.Text)
				os.Exit(1)
			case e.Text != "":
				w.say(wireEvent{Do: "ready", Text: e.Text})
			default:
				w.say(wireEvent{Do: "ready", Text: fmt.Sprintf("thread-%d", os.Getpid())})
			}
		case "say":
			w.turns++
			w.play(e, fmt.Sprintf("T%d", w.turns))
		}
	}
}

func (w *talker) say(e wireEvent) {
	w.out.Write(append(e.line(), '\n'))
	w.out.Flush()
}

// until waits for a call; a text that comes meanwhile is played within it.
func (w *talker) until(call, turn string) wireEvent {
	for e := range w.calls {
		if e.Call == call {
			return e
		}
		if e.Call == "say" {
			w.play(e, turn)
		}
	}
	return wireEvent{}
}

func (w *talker) play(e wireEvent, turn string) {
	script, ok := strings.CutPrefix(e.Text, "SCRIPT ")
	if !ok {
		script = ordinary
	}
	for _, step := range strings.Split(script, "; ") {
		word, rest, _ := strings.Cut(step, " ")
		ev := wireEvent{Do: word, Turn: turn, Message: e.Message}
		switch word {
		case "accepted", "began", "echoed":
			if rest != "" {
				ev.Turn = rest
			}
			if rest == "unnamed" {
				ev.Turn = ""
			}
			w.say(ev)
		case "turn":
			turn = rest
		case "ended":
			verdict, words, _ := strings.Cut(rest, " ")
			ev.Verdict, ev.Words = session.Verdict(verdict), words
			if words == "silent" {
				ev.Silent, ev.Words = true, ""
			}
			w.say(ev)
		case "rejected":
			ev.Words = rest
			w.say(ev)
		case "later":
			ev.Do, ev.Words, ev.Later = "rejected", rest, true
			w.say(ev)
		case "blocked":
			ev.Kind, ev.Words, _ = strings.Cut(rest, " ")
			w.say(ev)
		case "answer":
			ev.Do = "working"
			ev.State = session.Responding
			w.say(ev)
			w.say(wireEvent{Do: "item", Item: &session.Item{ID: "a-" + e.Message, Turn: turn, Kind: session.ItemAnswer, Text: rest, State: session.ItemDone}})
		case "owner":
			w.say(wireEvent{Do: "item", Item: &session.Item{ID: "u-" + e.Message, Turn: turn, Kind: session.ItemOwner, Text: e.Text, Message: e.Message}})
		case "runs":
			w.say(wireEvent{Do: "item", Item: &session.Item{ID: "c-" + e.Message, Turn: turn, Kind: session.ItemCommand, Title: rest, State: session.ItemRunning}})
		case "big":
			w.say(wireEvent{Do: "item", Item: &session.Item{ID: "b-" + e.Message, Turn: turn, Kind: session.ItemAnswer, Text: strings.Repeat("0123456789", 1<<20), State: session.ItemDone}})
		case "huge":
			w.say(wireEvent{Do: "item", Words: strings.Repeat("x", frameMost+1)})
		case "ask":
			w.say(wireEvent{Do: "asks", Prompt: &session.Prompt{Digest: "d-" + e.Message + rest, Kind: "approval", Title: "Run it?",
				Options: []session.Option{{Option: "yes", Label: "Yes, this once"}, {Option: "no", Label: "No, and end the turn"}}}})
		case "close":
			w.say(wireEvent{Do: "closed", Text: "d-" + e.Message + rest})
		case "warn":
			fmt.Fprintln(os.Stderr, rest)
			time.Sleep(50 * time.Millisecond) // the other stream may be read first
		case "print":
			w.out.WriteString(rest + "\n")
			w.out.Flush()
		case "half":
			w.out.WriteString(strings.TrimSuffix(string(wireEvent{Do: "ended", Turn: turn, Verdict: session.VerdictOK}.line()), "}"))
			w.out.Flush()
		case "whole": // the last line has no end
			w.out.Write(wireEvent{Do: "ended", Turn: turn, Verdict: session.VerdictOK}.line())
			w.out.Flush()
		case "exit":
			code := 0
			fmt.Sscan(rest, &code)
			os.Exit(code)
		case "segv":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Minute)
		case "until":
			if got := w.until(rest, turn); rest == "answer" {
				w.say(wireEvent{Do: "closed", Text: got.Answer.Digest})
			}
		case "deaf":
			ignore(syscall.SIGINT)
		case "stays":
			w.stays.Store(true)
		case "tells": // of its turn's end, when it is told to end
			ch := make(chan os.Signal, 1)
			signal2.Notify(ch, syscall.SIGINT)
			go func() {
				<-ch
				w.say(wireEvent{Do: "ended", Turn: turn, Verdict: session.VerdictKilled})
				os.Exit(0)
			}()
		case "file": // goes on when the file is there
			for {
				if _, err := os.Stat(filepath.Clean(rest)); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
}
