package appserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signalbox/runner/talk"
	"signalbox/session"
)

// fuzzed is a Protocol under a hostile engine, with a console that does what it may.
type fuzzed struct {
	t    *testing.T
	p    *Protocol
	open *session.Prompt
	rules
	asked, answered map[string]int // requests of the engine's, by id
}

func newFuzzed(t *testing.T) *fuzzed {
	l, _ := LevelOf(session.TrustAsk)
	z := &fuzzed{t: t, p: New(Options{Dir: "/srv/demo", Level: l}), rules: newRules(t), asked: map[string]int{}, answered: map[string]int{}}
	z.take(nil, z.p.Begin(""))
	return z
}

func (z *fuzzed) take(events []talk.Event, lines [][]byte) {
	for _, e := range events {
		z.check(e)
		switch e := e.(type) {
		case talk.PromptOpened:
			z.open = &e.Prompt
		case talk.PromptClosed:
			z.open = nil
		}
	}
	for _, line := range lines {
		z.checkLine(line)
		if f, ok := read(line); ok && f.Method == "" {
			if z.answered[string(f.ID)]++; z.answered[string(f.ID)] > z.asked[string(f.ID)] {
				z.t.Fatalf("request %s is answered more often than it was asked", f.ID)
			}
		}
	}
}

func (z *fuzzed) read(line []byte) {
	if f, ok := read(line); ok && f.Method != "" && f.ID != nil {
		z.asked[string(f.ID)]++
	}
	z.take(z.p.Read(line))
}

// does has the console do something: n chooses what.
func (z *fuzzed) does(n byte) {
	switch n % 8 {
	case 0, 1:
		lines, err := z.p.Say(talk.Message{ID: fmt.Sprintf("m%d", n), Text: "text", Steer: n%8 == 1})
		if (err == nil) != (len(lines) == 1) {
			z.t.Fatalf("a text: %v, and wrote %s", err, lines)
		}
		z.take(nil, lines)
	case 2:
		z.take(nil, z.p.Interrupt())
	case 3, 4, 5:
		if z.open == nil {
			return
		}
		a := session.Answer{Digest: z.open.Digest, Option: z.open.Options[int(n/8)%len(z.open.Options)].Option}
		if n%8 == 5 {
			a.Option, a.Text = "", []string{"1", "Staging, a", "words"}[int(n/8)%3]
		}
		events, lines, err := z.p.Answer(a)
		if a.Option != "" && err != nil {
			z.t.Fatalf("an option that is offered: %v", err)
		}
		z.take(events, lines)
	case 6:
		z.take(nil, z.p.Begin([]string{"", "th"}[n/8%2]))
	case 7:
		if n > 200 {
			z.gone()
			z.take(nil, z.p.Begin(""))
			z.rules = newRules(z.t)
		}
	}
}

// gone ends the process: what is open closes.
func (z *fuzzed) gone() {
	z.take(z.p.Gone(), nil)
	if z.open != nil {
		z.t.Fatal("a prompt is open though the process is gone")
	}
}

// FuzzRead reads whatever lines as an engine's. A line of "@" and a character has
// the console do something.
func FuzzRead(f *testing.F) {
	begin := `{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{"thread":{"id":"th"}}}` + "\n@\x00\n"
	for _, seed := range []string{
		"",
		`{"id":3,"result":{"turn":{"id":"t"}}}` + "\n" + `{"method":"turn/started","params":{"threadId":"th","turn":{"id":"t"}}}` + "\n@\x01\n" + `{"id":4,"error":{"code":-32600,"message":"no active turn to steer"}}`,
		`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t","status":"failed","error":{"message":"x","codexErrorInfo":"other"}}}}`,
		`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"th","command":"x","availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["a"]}}]}}` + "\n@\x03\n",
		`{"id":7,"method":"mcpServer/elicitation/request","params":{"mode":"form","message":"x","requestedSchema":{"properties":{"a":{"type":"array","items":{"enum":["b"]}}}}}}` + "\n@\x05\n",
		`{"id":7,"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","question":"x","options":[{"label":"y"}]}]}}` + "\n@\x03\n",
		`{"method":"item/completed","params":{"threadId":"th","turnId":"t","item":{"type":"fileChange","id":"i","changes":[{"path":"/a","kind":{"type":"add"},"diff":"x"}]}}}`,
	} {
		f.Add([]byte(begin + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		z := newFuzzed(t)
		for line := range bytes.Lines(data) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if len(line) == 2 && line[0] == '@' {
				z.does(line[1])
				continue
			}
			z.read(line)
		}
		z.gone()
	})
}

var (
	ids      = regexp.MustCompile(`"(turnId|itemId|targetItemId|expectedTurnId)": ?"[^"]*"`)
	itemID   = regexp.MustCompile(`("(?:turn|item)": ?\{(?:"type": ?"[A-Za-z]+", ?(?:"moderation": ?null, ?)?)?"id": ?)"[^"]*"`)
	threadID = regexp.MustCompile(`"threadId": ?"([^"]*)"`)
	frameID  = regexp.MustCompile(`("id"|"requestId"): ?\d+`)
)

// pool is one recorded frame of every sort, with its ids to be filled in.
func pool(tb testing.TB) []string {
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "streams", "codex", "app-server", "*.jsonl"))
	sorts := map[string]string{}
	for _, file := range files {
		primary := ""
		for _, l := range load(tb, strings.TrimSuffix(filepath.Base(file), ".jsonl")) {
			var in struct {
				Method string `json:"method"`
				Params struct {
					Thread string `json:"threadId"`
					Item   struct {
						Type   string `json:"type"`
						Status string `json:"status"`
					} `json:"item"`
					Run struct {
						Status string `json:"status"`
					} `json:"run"`
					Turn struct {
						Status string `json:"status"`
					} `json:"turn"`
					Retry bool `json:"willRetry"`
				} `json:"params"`
			}
			if l.dir != '<' || json.Unmarshal(l.frame, &in) != nil || in.Method == "" || len(l.frame) > 1<<14 {
				continue
			}
			p := in.Params
			if primary == "" {
				primary = p.Thread
			}
			text := threadID.ReplaceAllStringFunc(string(l.frame), func(s string) string {
				if strings.Contains(s, primary) {
					return `"threadId":"th"`
				}
				return `"threadId":"sub"`
			})
			text = ids.ReplaceAllString(text, `"$1":"ID"`)
			text = itemID.ReplaceAllString(text, `$1"ID"`)
			text = frameID.ReplaceAllString(text, `$1:77777`)
			sort := fmt.Sprint(in.Method, p.Item, p.Run, p.Turn, p.Retry, p.Thread == primary)
			if sorts[sort] == "" {
				sorts[sort] = text
			}
		}
	}
	out := slices.Collect(maps.Values(sorts))
	slices.Sort(out)
	return append(out,
		`{"id":77777,"result":{"turn":{"id":"ID"}}}`, `{"id":77777,"result":{"turnId":"ID"}}`, `{"id":77777,"error":{"code":-32600,"message":"no active turn to steer"}}`,
		`{"id":77777,"result":{"thread":{"id":"th"}}}`, `{"id":77777,"method":"somebody/invents/this","params":{"turnId":"ID"}}`)
}

// FuzzOrder gives recorded frames in whatever order, whole, halved and repeated,
// for few turns, items and requests, and has the console act between them.
func FuzzOrder(f *testing.F) {
	frames := pool(f)
	if len(frames) < 40 {
		f.Fatalf("only %d sorts of frame", len(frames))
	}
	f.Add([]byte{0, 0, 1, 0, 2, 0})
	for n := range 8 {
		seed := make([]byte, 0, 128)
		for i := range 64 {
			seed = append(seed, byte(i*(2*n+1)+n), byte(i*n))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { order(t, frames, data) })
}

// order plays frames and the console's steps in the order that data says.
func order(t *testing.T, frames []string, data []byte) *fuzzed {
	z := newFuzzed(t)
	z.read([]byte(`{"id":1,"result":{}}`))
	z.read([]byte(`{"id":2,"result":{"thread":{"id":"th"}}}`))
	for i := 0; i+1 < len(data) && i < 1<<10; i += 2 {
		what, arg := int(data[i]), data[i+1]
		if what >= 200 {
			z.does(arg)
			continue
		}
		line := strings.ReplaceAll(frames[what%len(frames)], `"ID"`, fmt.Sprintf(`"i%d"`, arg%3))
		line = strings.ReplaceAll(line, "77777", fmt.Sprint(int64(arg%4)+max(0, z.p.lastID-1)))
		if arg > 240 {
			line = line[:len(line)/2]
		}
		z.read([]byte(line))
	}
	z.gone()
	return z
}

// The same with orders drawn by chance, so that every run of the tests has some.
func TestRandomOrders(t *testing.T) {
	frames := pool(t)
	rnd := rand.New(rand.NewPCG(5, 171))
	turns, asked := 0, 0
	const runs = 500
	for range runs {
		data := make([]byte, 2*rnd.IntN(100))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		z := order(t, frames, data)
		turns += len(z.ended)
		asked += len(z.used)
	}
	t.Logf("%d orders of %d sorts of frame: %d turns ended, %d prompts opened", runs, len(frames), turns, asked)
	if turns == 0 || asked == 0 {
		t.Error("nothing happened in them")
	}
}
