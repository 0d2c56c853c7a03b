// Command tui is an engine on a screen for the tests: it draws as Codex 0.171
// does, takes raw keys, and writes a line for all that it was given and for all
// that it did into a log, which is what the tests believe.
//
//	tui LOG [trust]
//
// A line of the log is a word and a JSON string: "start ARGS", "key K", "paste T",
// "sent T" (an instruction went out), "ran NAME", "declined NAME", "trust O",
// "answered O NOTES". What
// an instruction begins with chooses its turn:
//
//	APPROVE A,B…  asks to run "touch A", then B, with some work between them
//	LONG A        the same with a command of several rows
//	TALL A        the same with rows of the command left out, until the screen has room for them
//	ASK WHAT      asks which WHAT it should be, and takes notes to the answer (Tab)
//	SLOW          works until Escape, or until the file LOG.go is there
//	BEAT N        works and shows the time every N ms, until Escape
//	FAIL          ends in an error of the engine's
//	EXIT0, EXIT3, SEGV  end the engine
//
// Anything else is answered with "Done."
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

type engine struct {
	mu     sync.Mutex
	path   string
	log    *os.File
	out    *bufio.Writer
	said   []string // the transcript
	draft  string
	dialog *dialog
	busy   bool
	spin   int
	turn   int // rises with each
}

// dialog is a question that stands in the composer's place.
type dialog struct {
	rows     []string
	options  []string
	keys     string // a letter for each option
	selected int
	hint     string
	done     func(choice int)
	inset    string // before each option
	takes    bool   // Tab opens a field for notes
	noting   bool
	notes    string
}

func main() {
	e := &engine{path: os.Args[1], out: bufio.NewWriter(os.Stdout)}
	e.log, _ = os.OpenFile(e.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	tio, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdin is not a terminal")
		os.Exit(1)
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	tio.Iflag &^= unix.ICRNL | unix.IXON
	unix.IoctlSetTermios(0, unix.TCSETS, tio)
	fmt.Print("\x1b[?1049h\x1b[?2004h")
	e.note("start", strings.Join(os.Args[2:], " "))
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	go func() {
		for range resized {
			e.do(func() {})
		}
	}()
	e.do(func() {}) // the composer comes before the question about trust
	if len(os.Args) > 2 && os.Args[2] == "trust" {
		time.Sleep(100 * time.Millisecond)
		e.do(e.askTrust)
	}
	e.read()
}

func (e *engine) note(what, text string) {
	b, _ := json.Marshal(text)
	e.log.WriteString(what + " " + string(b) + "\n")
}

// do changes something and draws the screen.
func (e *engine) do(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	e.draw()
}

func (e *engine) askTrust() {
	e.dialog = &dialog{
		rows:    []string{"  Folder access", "  /home/owner/demo", "", "  Trust this folder? Codex can read, edit, and run files here."},
		options: []string{"Trust and continue", "Back to Agent Command Center"}, keys: "12", hint: "  enter continue · esc back",
	}
	e.dialog.done = func(n int) {
		e.note("trust", []string{"Trust and continue", "Back to Agent Command Center"}[n])
		if n != 0 {
			e.leave(0)
		}
	}
}

func (e *engine) leave(code int) {
	e.out.WriteString("\x1b[?25h\x1b[?2004l\x1b[?1049l")
	e.out.Flush()
	os.Exit(code)
}

// draw paints the whole screen at once.
func (e *engine) draw() {
	ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil {
		return
	}
	cols, rows := int(ws.Col), int(ws.Row)
	bottom, cx, cy, visible, title := e.bottom(cols, rows)
	top := []string{"", "  >_ OpenAI Codex (v0.171.0)", "     ~/demo", ""}
	for _, l := range e.said {
		top = append(top, wrap(l, cols)...)
	}
	if room := rows - len(bottom); len(top) > room {
		top = top[len(top)-max(room, 0):]
	}
	for len(top)+len(bottom) < rows {
		top = append(top, "")
	}
	all := append(top, bottom...)
	all = all[len(all)-rows:]
	e.out.WriteString("\x1b[?25l\x1b]2;" + title + "\a")
	for i, row := range all {
		fmt.Fprintf(e.out, "\x1b[%d;1H%s\x1b[0m\x1b[K", i+1, row)
	}
	fmt.Fprintf(e.out, "\x1b[%d;%dH", cy+1, cx+1)
	if visible {
		e.out.WriteString("\x1b[?25h")
	}
	e.out.Flush()
}

// bottom is the dialog, or the composer with what stands over it.
func (e *engine) bottom(cols, rows int) (bottom []string, cx, cy int, visible bool, title string) {
	if d := e.dialog; d != nil {
		for _, r := range d.rows {
			if strings.HasPrefix(r, "  [… ") && rows > 100 {
				for i := 3; i <= 48; i++ {
					bottom = append(bottom, fmt.Sprintf("  echo \"line %d of a long script\"", i))
				}
				continue
			}
			bottom = append(bottom, wrapIn(r, cols)...)
		}
		bottom = append(bottom, "")
		for i, o := range d.options {
			mark := "  "
			if i == d.selected {
				mark = "› "
			}
			bottom = append(bottom, wrapIn(fmt.Sprintf("%s%s%d. %s", d.inset, mark, i+1, o), cols)...)
		}
		if d.noting {
			words := d.notes
			if words == "" {
				words = "\x1b[2mAdd notes\x1b[0m"
			}
			bottom = append(bottom, "", "  › "+words, "", "  tab or esc to clear notes | enter to submit answer")
			return bottom, 4 + len(d.notes), rows - 3, true, "[ ! ] Action Required | demo"
		}
		return append(bottom, "", d.hint), cols - 1, rows - 1, false, "[ ! ] Action Required | demo"
	}
	title = "demo"
	if e.busy {
		bottom = append(bottom, "• Working (2s • esc to interrupt)", "", "")
		title = string([]rune("⠋⠙⠹⠸")[e.spin%4]) + " demo"
	}
	at := len(bottom)
	for i, line := range strings.Split(strings.ReplaceAll(e.draft, "\t", "    "), "\n") {
		for j, w := range wrap(line, cols-4) {
			glyph := "  "
			if i+j == 0 {
				glyph = "\x1b[1m›\x1b[0m "
			}
			bottom = append(bottom, glyph+w)
			cx, cy = 2+cells(w), len(bottom)-1
		}
	}
	if e.draft == "" {
		bottom[at] = "\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\x1b[0m"
	}
	bottom = append(bottom, "", "  gpt-5 default · ~/demo", "  ← for agents · ? for shortcuts")
	return bottom, cx, cy + rows - len(bottom), true, title
}

func cells(s string) (n int) {
	for _, r := range s {
		if n++; r > 0x2e7f {
			n++
		}
	}
	return n
}

func wrap(line string, width int) (out []string) {
	row, n := "", 0
	for _, r := range line {
		w := 1
		if r > 0x2e7f {
			w = 2
		}
		if n+w > width {
			out, row, n = append(out, row), "", 0
		}
		row, n = row+string(r), n+w
	}
	return append(out, row)
}

// wrapIn wraps at words and begins each further row under the first's text.
func wrapIn(line string, width int) (out []string) {
	indent := len(line) - len(strings.TrimLeft(line, " ›0123456789."))
	row := ""
	for _, word := range strings.SplitAfter(line, " ") {
		if cells(row)+cells(strings.TrimRight(word, " ")) > width && strings.TrimSpace(row) != "" {
			out, row = append(out, strings.TrimRight(row, " ")), strings.Repeat(" ", min(indent, 5))
		}
		row += word
	}
	return append(out, row)
}

// read takes keys until the terminal is gone.
func (e *engine) read() {
	in := bufio.NewReader(os.Stdin)
	next := func() byte {
		b, err := in.ReadByte()
		if err != nil {
			os.Exit(0)
		}
		return b
	}
	for {
		b := next()
		key := string([]byte{b})
		if b == 0x1b && in.Buffered() > 0 {
			if p, _ := in.Peek(1); p[0] == '[' || p[0] == 'O' {
				for len(key) < 3 || key[len(key)-1] < 0x40 || key[len(key)-1] > 0x7e {
					key += string([]byte{next()})
				}
			}
		}
		if key == "\x1b[200~" {
			var text []byte
			for !strings.HasSuffix(string(text[max(0, len(text)-6):]), "\x1b[201~") {
				text = append(text, next())
			}
			e.do(func() { e.pasted(strings.ReplaceAll(string(text[:len(text)-6]), "\r", "\n")) })
			continue
		}
		for b >= 0x80 && !utf8.FullRuneInString(key) {
			key += string([]byte{next()})
		}
		e.do(func() { e.pressed(key) })
	}
}

func (e *engine) pasted(text string) {
	e.note("paste", text)
	if d := e.dialog; d != nil && d.noting {
		d.notes += text
		return
	}
	if e.dialog != nil { // it takes them as bare keys
		for _, r := range text {
			e.choose(string(r))
		}
		return
	}
	e.draft += text
}

func (e *engine) pressed(key string) {
	e.note("key", key)
	if e.dialog != nil {
		e.choose(key)
		return
	}
	switch key {
	case "\r":
		if text := e.draft; strings.TrimSpace(text) != "" {
			e.draft = ""
			e.send(text)
		}
	case "\x1b":
		if e.busy {
			e.turn++
			e.busy = false
			e.say("", "■ Conversation interrupted - use /feedback to report it")
		}
	case "\x15": // Ctrl-U
		e.draft = ""
	case "\x03":
		if e.draft == "" {
			e.leave(0)
		}
		e.draft = ""
	case "\x7f":
		if r := []rune(e.draft); len(r) > 0 {
			e.draft = string(r[:len(r)-1])
		}
	default:
		if !strings.HasPrefix(key, "\x1b") && key >= " " {
			e.draft += key
		}
	}
}

// choose gives a key to the dialog.
func (e *engine) choose(key string) {
	d := e.dialog
	if d == nil {
		return
	}
	choice := -1
	if d.noting && key != "\r" {
		if key == "\t" || key == "\x1b" {
			d.noting, d.notes = false, ""
		} else if !strings.HasPrefix(key, "\x1b") {
			d.notes += key
		}
		return
	}
	switch key {
	case "\t":
		d.noting = d.takes
	case "\r":
		choice = d.selected
	case "\x1b":
		choice = len(d.options) - 1
	case "\x1b[A", "\x1bOA":
		d.selected = max(0, d.selected-1)
	case "\x1b[B", "\x1bOB":
		d.selected = min(len(d.options)-1, d.selected+1)
	default:
		if n, err := strconv.Atoi(key); err == nil && n > 0 && n <= len(d.options) {
			choice = n - 1
		} else if i := strings.Index(d.keys, key); i >= 0 {
			choice = i
		}
	}
	if choice >= 0 {
		e.dialog = nil
		d.done(choice)
	}
}

func (e *engine) say(lines ...string) { e.said = append(e.said, lines...) }

// send begins a turn.
func (e *engine) send(text string) {
	text = strings.TrimSpace(text)
	e.note("sent", text)
	for i, l := range strings.Split(text[:min(len(text), 200)], "\n") {
		if i == 0 {
			e.say("", "› "+l, "")
		} else {
			e.say("  " + l)
		}
	}
	word, rest, _ := strings.Cut(text, " ")
	e.work(func(i int) (time.Duration, bool) {
		switch word {
		case "SLOW":
			_, err := os.Stat(e.path + ".go")
			return 40 * time.Millisecond, err == nil && i >= 4
		case "BEAT":
			every, _ := strconv.Atoi(rest)
			if i > 0 {
				e.say(fmt.Sprintf("at %d", time.Now().UnixMicro()))
				e.said = e.said[max(0, len(e.said)-30):]
			}
			return time.Duration(max(every, 1)) * time.Millisecond, false
		}
		return 40 * time.Millisecond, i >= 4
	}, func() { e.end(word, rest) })
}

// work is busy until pace says so, at the i-th step of a turn, then does what is
// left. An interrupt ends it before.
func (e *engine) work(pace func(i int) (wait time.Duration, done bool), then func()) {
	e.turn++
	turn := e.turn
	e.busy = true
	go func() {
		for i := 0; ; i++ {
			over := false
			var wait time.Duration
			e.do(func() {
				if over = e.turn != turn; over {
					return
				}
				e.spin++
				if wait, over = pace(i); over {
					e.busy = false
					then()
				}
			})
			if over {
				return
			}
			time.Sleep(wait)
		}
	}()
}

func (e *engine) end(word, rest string) {
	switch word {
	case "APPROVE":
		e.approve(strings.Split(rest, ","), func(n string) []string { return []string{"  $ touch " + n} })
	case "LONG":
		e.approve([]string{rest}, func(n string) []string {
			return []string{"  $ touch " + n + " && printf '%s' 'section one of the nightly report' > ../reports/section-one.txt && printf '%s' 'section two of the nightly report' > ../reports/section-two.txt && rm -rf ./the-end-of-the-command"}
		})
	case "TALL":
		e.approve([]string{rest}, func(n string) []string {
			return []string{"  $ touch " + n, "  echo \"line 1 of a long script\"", "  echo \"line 2 of a long script\"", "  [… 46 lines] ^a view all"}
		})
	case "ASK":
		d := &dialog{
			rows:    []string{"  Question 1/1 (1 unanswered)", "  Which " + rest + " should it be?"},
			options: []string{"Blue               Matches the brand", "Green              Signals success", "None of the above  Optionally, add details in notes (tab)"},
			inset:   "  ", takes: true, hint: "  tab to add notes | enter to submit answer | esc to interrupt",
		}
		d.done = func(n int) {
			option, _, _ := strings.Cut(d.options[n], "  ")
			e.note("answered", strings.TrimSpace(option+" "+d.notes))
			e.say("• Questions 1/1 answered", "", "  Worked for 1s • 08:14", "")
		}
		e.dialog = d
	case "FAIL":
		e.say("■ The mock says 500.")
	case "EXIT0":
		e.leave(0)
	case "EXIT3":
		e.out.WriteString("\x1b[?1049l\x1b[?25hfatal: the disk is full\r\n")
		e.out.Flush()
		os.Exit(3)
	case "SEGV":
		syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, os.Environ())
	default:
		e.say("• Done.", "", "  Worked for 1s • 08:14", "")
	}
}

// approve asks about one command after the other.
func (e *engine) approve(names []string, command func(string) []string) {
	name := names[0]
	rows := append([]string{"  Would you like to run the following command?", "", "  Environment: local", "", "  Reason: Make a file?", ""}, command(name)...)
	e.dialog = &dialog{
		rows:    rows,
		options: []string{"Yes, proceed (y)", "Yes, and don't ask again for commands that start with `touch` (p)", "No, and tell Codex what to do differently (esc)"},
		keys:    "ypn", hint: "  Press enter to confirm or esc to cancel",
		done: func(n int) {
			if n == 2 {
				e.note("declined", name)
				e.say("■ Conversation interrupted - tell the model what to do differently")
				return
			}
			e.note("ran", name)
			e.say("✔ You approved codex to run touch "+name+" this time", "")
			e.work(func(i int) (time.Duration, bool) { return 50 * time.Millisecond, i >= 8 }, func() {
				if len(names) > 1 {
					e.approve(names[1:], command)
					return
				}
				e.say("• Done.", "", "  Worked for 1s • 08:14", "")
			})
		},
	}
}
