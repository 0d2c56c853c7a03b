// Command structured is an engine that speaks a protocol: as "codex" the app-server
// of Codex 0.171.0, as "claude" the stream-json of Claude Code 2.1.332, in the frames
// that those were recorded with. What it does is said by the first word of an
// instruction:
//
//	answer WORDS    answers with WORDS
//	markdown        answers with every kind of Markdown
//	hostile         answers with markup, escape sequences and a turned direction
//	fail WORDS      the turn fails with WORDS
//	approve COMMAND asks before it runs COMMAND
//	patch           asks before it changes a file (codex)
//	ask             asks a question with options and free text
//	lines N         runs a command that prints N lines
//	grow NAME       runs a command that prints until the file NAME is there
//	wait NAME       runs a command until the file NAME is there
//	think NAME      is silent until the file NAME is there
//	block           a hook refuses the message
//	subagent        a hook refuses a message of a sub-agent
//	noise           says things that nobody knows, then answers
//	big             answers with 10 MiB
//	half            writes half a frame and dies
//	die             dies with status 3
//	hang            does nothing, whatever it is told
//
// A message that joins a running turn is refused by a hook if it begins with "block".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	name := filepath.Base(os.Args[0])
	for _, a := range os.Args[1:] {
		if a == "--version" || a == "-V" {
			fmt.Println(map[string]string{"codex": "codex-cli 0.171.0", "claude": "2.1.332 (Claude Code)"}[name])
			return
		}
	}
	switch {
	case name == "codex" && contains(os.Args, "app-server"):
		serve(newCodex())
	case name == "claude" && contains(os.Args, "stream-json"):
		serve(newClaude())
	default:
		fmt.Fprintf(os.Stderr, "%s: this scripted engine only speaks its protocol, not %q\n", name, os.Args[1:])
		os.Exit(2)
	}
}

func contains(all []string, one string) bool {
	for _, a := range all {
		if a == one {
			return true
		}
	}
	return false
}

type object = map[string]any

// engine takes frames one at a time.
type engine interface{ take(frame object) }

func serve(e engine) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		var frame object
		if json.Unmarshal(line, &frame) == nil {
			e.take(frame)
		}
		if err != nil {
			os.Exit(0)
		}
	}
}

var writing sync.Mutex

func say(frame object) {
	line, err := json.Marshal(frame)
	if err != nil {
		panic(err)
	}
	raw(string(line) + "\n")
}

func raw(text string) {
	writing.Lock()
	defer writing.Unlock()
	os.Stdout.WriteString(text)
}

// text finds the words of an input.
func text(input any) string {
	var words []string
	parts, _ := input.([]any)
	for _, p := range parts {
		if o, ok := p.(object); ok {
			if t, ok := o["text"].(string); ok {
				words = append(words, t)
			}
		}
	}
	return strings.Join(words, "\n")
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func sub(o object, names ...string) object {
	for _, n := range names {
		o, _ = o[n].(object)
	}
	return o
}

var counted struct {
	sync.Mutex
	n int
}

func next(prefix string) string {
	counted.Lock()
	defer counted.Unlock()
	counted.n++
	return fmt.Sprintf("%s_%d_%d", prefix, os.Getpid(), counted.n)
}

// there waits until a file is there; false if stop is closed first.
func there(name string, stop <-chan struct{}) bool {
	for {
		if _, err := os.Stat(name); err == nil {
			return true
		}
		select {
		case <-stop:
			return false
		case <-time.After(3 * time.Millisecond):
		}
	}
}

const markdown = "# Result\n\nThe loader reads **everything** at once, see `load.go`.\n\n1. first\n2. second\n\n```go\nfmt.Println(\"<ok>\")\n```\n\n" +
	"| way | cost |\n|---|---|\n| stream | 3 |\n\n[the docs](https://docs.example/load) and [a file](/src/load.go)\n\n![tracker](https://tracker.example/p.png)\n"

const hostile = "Look: <script>document.title='owned'</script><img src=x onerror=alert(1)> [click](javascript:alert(1)) " +
	"\x1b]0;owned\x07\x1b]8;;https://evil.example\x07link\x1b]8;;\x07 user\u202egnp.exe &#x202e;entity\n\n<iframe src=https://evil.example></iframe>"

var tenMiB = strings.Repeat("a long line of an answer that never ends\n", 10<<20/41)
