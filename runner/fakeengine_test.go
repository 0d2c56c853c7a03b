package runner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	signal2 "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// fake is an engine on a screen, played by the test binary: it draws as Codex
// 0.171 does, takes raw keys, and writes into FAKE_LOG, a line each, all that it
// was given ("key …", "paste …"), every text that was sent to it ("sent …") and
// every command that it ran ("ran …"). What a text begins with chooses the turn:
// APPROVE asks first, ASK asks a question that takes notes, SLOW works until Escape or the file FAKE_LOG.go, STURDY until Ctrl-C, FAIL ends
// in an error, EXIT3, EXIT0 and SEGV end the engine.
type fake struct {
	mu     sync.Mutex
	log    *os.File
	out    *bufio.Writer
	lines  []string // the transcript
	draft  string
	folds  []string // long pastes, each shown as its fold
	dialog *dialog
	busy   bool
	sturdy bool // Escape ends no turn
	spin   int
	turn   int // rises with each
	claude bool
	ready  bool
	enters int // Enters to swallow
	size   unix.Winsize
}

// dialog is a question that stands in the composer's place.
type dialog struct {
	rows     []string
	options  []string
	keys     string // one letter an option; a space: none
	digits   bool
	selected int
	hint     string
	done     func(choice int)
	inset    string // before each option
	notes    string // under the question, once Tab has opened them
	noting   bool
	takes    bool // Tab opens them
	stubborn bool // it hides rows however tall the screen is
	folded   bool // it hides them until Ctrl-F
}

func playFake() {
	f := &fake{out: bufio.NewWriter(os.Stdout), claude: filepath.Base(os.Getenv("FAKE_AS")) == "claude"}
	f.log, _ = os.OpenFile(os.Getenv("FAKE_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	tio, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		os.Exit(1)
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	tio.Iflag &^= unix.ICRNL | unix.IXON
	unix.IoctlSetTermios(0, unix.TCSETS, tio)
	f.enters, _ = strconv.Atoi(os.Getenv("FAKE_SWALLOWS"))
	if os.Getenv("FAKE_MAIN") == "" {
		fmt.Fprint(os.Stdout, "\x1b[?1049h")
	}
	fmt.Fprint(os.Stdout, "\x1b[?2004h")
	f.note("start", strings.Join(os.Args[1:], " "))
	resized := make(chan os.Signal, 1)
	signal2.Notify(resized, syscall.SIGWINCH)
	go func() {
		for range resized {
			f.mu.Lock()
			f.draw()
			f.mu.Unlock()
		}
	}()
	f.mu.Lock()
	f.ready = true
	f.draw() // the composer comes before the question about trust
	f.mu.Unlock()
	if os.Getenv("FAKE_TRUST") != "" {
		time.Sleep(100 * time.Millisecond)
		f.mu.Lock()
		f.askTrust()
		f.draw()
		f.mu.Unlock()
	}
	f.read()
}

func (f *fake) note(what, text string) {
	b, _ := json.Marshal(text)
	fmt.Fprintf(f.log, "%s %s\n", what, b)
}

func (f *fake) askTrust() {
	d := &dialog{
		rows:    []string{"  Folder access", "  /home/owner/demo", "", "  Trust this folder? Codex can read, edit, and run files here."},
		options: []string{"Trust and continue", "Back to Agent Command Center"}, digits: true, keys: "12", hint: "  enter continue · esc back",
	}
	if f.claude {
		d = &dialog{
			rows: []string{strings.Repeat("─", int(f.size.Col)), " Accessing workspace:", "", " /home/owner/demo", "",
				" Quick safety check: Is this a project you created or one you trust?", "", " Security guide"},
			options: []string{"No, exit", "Yes, I trust this folder"}, keys: "  ", hint: " Enter to confirm · Esc to cancel",
		}
	}
	d.done = func(n int) {
		f.note("trust", d.options[n])
		if n != 0 != f.claude {
			f.leave(0)
		}
	}
	f.dialog = d
}

func (f *fake) leave(code int) {
	f.out.WriteString("\x1b[?25h\x1b[?2004l\x1b[?1049l")
	f.out.Flush()
	os.Exit(code)
}

// draw paints the whole screen; f.mu is held.
func (f *fake) draw() {
	if ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil {
		f.size = *ws
	}
	cols, rows := int(f.size.Col), int(f.size.Row)
	var bottom []string
	cx, cy, visible := 0, 0, true
	title := "demo"
	switch {
	case f.dialog != nil:
		d := f.dialog
		for _, r := range d.rows {
			if strings.HasPrefix(r, "  [… ") && rows > 100 && !d.stubborn && !d.folded {
				for i := range 46 {
					bottom = append(bottom, fmt.Sprintf("  echo line %d", i+1))
				}
				continue
			}
			bottom = append(bottom, r)
		}
		bottom = append(bottom, "")
		for i, o := range d.options {
			mark := "  "
			if i == d.selected {
				mark = "› "
				if f.claude {
					mark = "❯ "
				}
			}
			if d.digits {
				o = strconv.Itoa(i+1) + ". " + o
			}
			if f.claude {
				mark = " " + mark
			}
			bottom = append(bottom, d.inset+mark+o)
		}
		visible, cx, cy = false, cols-1, rows-1
		hint := d.hint
		if d.noting {
			shown := d.notes
			if shown == "" {
				shown = "\x1b[2mAdd notes\x1b[0m"
			}
			bottom = append(bottom, "", "  › "+shown)
			hint = "  tab or esc to clear notes | enter to submit answer"
			visible, cx, cy = true, 4+cells(d.notes), rows-3
		}
		bottom = append(bottom, "", hint)
		title = "[ ! ] Action Required | demo"
	default:
		shown := f.draft
		for _, p := range f.folds {
			shown = strings.Replace(shown, p, fmt.Sprintf("[Pasted Content %d chars]", utf8.RuneCountInString(p)), 1)
		}
		if f.busy {
			bottom = append(bottom, "• Working (2s • esc to interrupt)", "", "")
			title = string("⠋⠙⠹⠸"[3*(f.spin%4):3*(f.spin%4)+3]) + " demo"
		}
		var words []string
		for _, line := range strings.Split(strings.ReplaceAll(shown, "\t", "    "), "\n") {
			words = append(words, wrap(line, cols-4)...)
		}
		at := len(bottom)
		if most := rows - 14; len(words) > most { // as tall as there is room
			words = words[len(words)-most:]
			words[0] += strings.Repeat(" ", max(0, cols-3-cells(words[0]))) + "↑"
		}
		for i, w := range words {
			glyph := "  "
			if i == 0 {
				glyph = "\x1b[1m›\x1b[0m "
			}
			bottom = append(bottom, glyph+w)
			cx, cy = 2+cells(w), at+i
		}
		if f.draft == "" {
			bottom[at] = "\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\x1b[0m"
		}
		bottom = append(bottom, "", "  gpt-5 default · ~/demo", "  ← for agents · ? for shortcuts")
		cy += rows - len(bottom)
		if f.claude {
			rule := strings.Repeat("─", cols)
			bottom = []string{rule, "❯\u00a0" + f.draft, rule, "  ⏸ manual mode on · ? for shortcuts"}
			cx, cy, visible, title = 2+cells(f.draft), rows-3, false, "✳ Claude Code"
		}
	}
	var top []string
	if !f.claude {
		top = append(top, "", "  >_ OpenAI Codex (v0.171.0)", "     ~/demo", "")
	}
	for _, l := range f.lines {
		top = append(top, wrap(l, cols)...)
	}
	all := make([]string, 0, rows)
	if room := rows - len(bottom); len(top) > room {
		top = top[len(top)-max(room, 0):]
	}
	all = append(all, top...)
	for len(all)+len(bottom) < rows {
		all = append(all, "")
	}
	all = append(all, bottom...)
	if len(all) > rows {
		all = all[len(all)-rows:]
	}
	f.out.WriteString("\x1b[?25l\x1b]2;" + title + "\a")
	for i, row := range all {
		fmt.Fprintf(f.out, "\x1b[%d;1H%s\x1b[0m\x1b[K", i+1, row)
	}
	fmt.Fprintf(f.out, "\x1b[%d;%dH", cy+1, cx+1)
	if visible {
		f.out.WriteString("\x1b[?25h")
	}
	f.out.Flush()
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

// read takes keys until the terminal is gone.
func (f *fake) read() {
	in := bufio.NewReader(os.Stdin)
	for {
		b, err := in.ReadByte()
		if err != nil {
			os.Exit(0)
		}
		key := string(b)
		if b == 0x1b && in.Buffered() > 0 {
			if next, _ := in.Peek(1); next[0] == '[' || next[0] == 'O' {
				seq := []byte{0x1b}
				for {
					c, err := in.ReadByte()
					if err != nil {
						os.Exit(0)
					}
					if seq = append(seq, c); len(seq) > 2 && c >= 0x40 && c <= 0x7e {
						break
					}
				}
				key = string(seq)
			}
		}
		if key == "\x1b[200~" {
			var text []byte
			for !strings.HasSuffix(string(text[max(0, len(text)-6):]), "\x1b[201~") {
				c, err := in.ReadByte()
				if err != nil {
					os.Exit(0)
				}
				text = append(text, c)
			}
			f.pasted(strings.ReplaceAll(string(text[:len(text)-6]), "\r", "\n"))
			continue
		}
		if b >= 0x80 { // the rest of a character
			for !utf8.FullRuneInString(key) {
				c, err := in.ReadByte()
				if err != nil {
					os.Exit(0)
				}
				key += string(c)
			}
		}
		f.pressed(key)
	}
}

func (f *fake) pasted(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("paste", text)
	if d := f.dialog; d != nil && d.noting {
		d.notes += strings.TrimPrefix(text, os.Getenv("FAKE_EATS"))
		f.draw()
		return
	}
	if f.dialog != nil { // as bare keys
		for _, r := range text {
			f.answerKey(string(r))
		}
		f.draw()
		return
	}
	f.draft += text
	if utf8.RuneCountInString(text) > 1000 {
		f.folds = append(f.folds, text)
	}
	f.draw()
}

func (f *fake) pressed(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("key", key)
	defer f.draw()
	if f.dialog != nil {
		f.answerKey(key)
		return
	}
	switch key {
	case "\r":
		if f.enters > 0 && f.draft != "" {
			f.enters--
			if os.Getenv("FAKE_FLICKERS") != "" { // it draws itself anew
				words := f.draft
				f.draft = ""
				time.AfterFunc(100*time.Millisecond, func() {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.draft = words
					f.draw()
				})
			}
			return
		}
		if strings.TrimSpace(f.draft) != "" {
			text := f.draft
			f.draft, f.folds = "", nil
			f.send(text)
		}
	case "\x1b":
		if !f.sturdy {
			f.interrupt()
		}
	case "\x03":
		switch {
		case f.busy:
			f.interrupt()
			return
		case f.draft == "":
			f.leave(0)
		}
		f.draft, f.folds = "", nil
	case "\x7f":
		if r := []rune(f.draft); len(r) > 0 {
			f.draft = string(r[:len(r)-1])
		}
	default:
		if !strings.HasPrefix(key, "\x1b") {
			f.draft += key
		}
	}
}

func (f *fake) interrupt() {
	if f.busy {
		f.turn++
		f.busy = false
		f.say("", "■ Conversation interrupted - use /feedback to report it")
	}
}

func (f *fake) answerKey(key string) {
	d := f.dialog
	if d == nil {
		return
	}
	choice := -1
	if d.noting && key != "\r" {
		switch {
		case key == "\t" || key == "\x1b":
			d.noting, d.notes = false, ""
		case !strings.HasPrefix(key, "\x1b"):
			d.notes += key
		}
		return
	}
	switch key {
	case "\x06":
		d.folded = !d.folded
	case "\t":
		d.noting = d.takes && os.Getenv("FAKE_DEAF") == ""
	case "\r":
		choice = d.selected
	case "\x1b":
		choice = len(d.options) - 1
	case "\x1b[A", "\x1bOA":
		d.selected = max(0, d.selected-1)
	case "\x1b[B", "\x1bOB":
		d.selected = min(len(d.options)-1, d.selected+1)
	default:
		if n, err := strconv.Atoi(key); err == nil && d.digits && n > 0 && n <= len(d.options) {
			choice = n - 1
		} else if i := strings.Index(d.keys, key); i >= 0 && key != " " {
			choice = i
		}
	}
	if choice >= 0 && os.Getenv("FAKE_DEAF") == "" {
		f.dialog = nil
		d.done(choice)
	}
}

func (f *fake) say(lines ...string) { f.lines = append(f.lines, lines...) }

// send begins a turn; f.mu is held.
func (f *fake) send(text string) {
	f.note("sent", text)
	if strings.HasPrefix(text, "/") { // done at once, and nothing moves after it
		f.say("", "  "+strings.ToUpper(text[1:])+": all is well.", "")
		return
	}
	shown := text
	if len(shown) > 200 {
		shown = shown[:200]
	}
	word, rest, _ := strings.Cut(text, " ")
	for i, l := range strings.Split(shown, "\n") {
		if word == "HELD" {
			break
		}
		if i == 0 {
			f.say("", "› "+l, "")
		} else {
			f.say("  " + l)
		}
	}
	f.turn++
	turn := f.turn
	f.busy, f.sturdy = word != "LATE" && word != "HELD", word == "STURDY"
	go func() {
		mine := func() bool { return f.turn == turn }
		for word == "LATE" || word == "HELD" {
			if _, err := os.Stat(os.Getenv("FAKE_LOG") + ".go"); err == nil {
				f.mu.Lock()
				f.busy = true
				f.mu.Unlock()
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		for i := 0; i < 4 || word == "SLOW" || word == "STURDY"; i++ {
			time.Sleep(40 * time.Millisecond)
			if _, err := os.Stat(os.Getenv("FAKE_LOG") + ".go"); err == nil && word == "SLOW" && i >= 4 {
				break
			}
			f.mu.Lock()
			if !mine() {
				f.mu.Unlock()
				return
			}
			f.spin++
			f.draw()
			f.mu.Unlock()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if !mine() {
			return
		}
		switch word {
		case "APPROVE":
			f.approve(strings.Split(rest, ","))
		case "TALL", "STUBBORN", "FOLDED":
			f.approve([]string{rest})
			long := []string{"  [… 46 lines] ^a view all"}
			f.dialog.rows = append(f.dialog.rows[:len(f.dialog.rows)-1:len(f.dialog.rows)-1], long...)
			f.dialog.stubborn, f.dialog.folded = word == "STUBBORN", word == "FOLDED"
		case "ASK":
			f.question(rest)
		case "FAIL":
			f.busy = false
			f.say("■ The mock says 500.")
		case "EXIT3":
			f.out.WriteString("\x1b[?1049l\x1b[?25hfatal: the disk is full\r\n")
			f.out.Flush()
			os.Exit(3)
		case "EXIT0":
			f.leave(0)
		case "SEGV":
			syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, os.Environ())
		default:
			f.finish("• Done.")
		}
		f.draw()
	}()
}

func (f *fake) finish(line string) {
	f.busy = false
	f.say(line, "", "  Worked for 1s • 08:14", "")
}

// question asks what has no command to it.
func (f *fake) question(what string) {
	f.busy = false
	d := &dialog{
		rows:    []string{"  Question 1/1 (1 unanswered)", "  Which " + what + " should it be?"},
		options: []string{"Blue               Matches the brand", "Green              Signals success", "None of the above  Optionally, add details in notes (tab)"},
		digits:  true, inset: "  ", takes: true, hint: "  tab to add notes | enter to submit answer | esc to interrupt",
	}
	d.done = func(n int) {
		f.note("answered", strings.TrimSpace(strings.Fields(d.options[n])[0]+" "+d.notes))
		f.finish("• Questions 1/1 answered")
	}
	f.dialog = d
}

// approve asks about one command after the other.
func (f *fake) approve(names []string) {
	f.busy = false
	name := names[0]
	f.dialog = &dialog{
		rows:    []string{"  Would you like to run the following command?", "", "  Environment: local", "", "  Reason: Make a file?", "", "  $ touch " + name, ""},
		options: []string{"Yes, proceed (y)", "Yes, and don't ask again for commands that start with `touch` (p)", "No, and tell Codex what to do differently (esc)"},
		keys:    "ypn", digits: true, hint: "  Press enter to confirm or esc to cancel",
		done: func(n int) {
			if n == 2 {
				f.say("■ Conversation interrupted - tell the model what to do differently")
				f.note("declined", name)
				return
			}
			f.note("ran", name)
			if len(names) > 1 {
				f.approve(names[1:])
				return
			}
			f.finish("✔ You approved codex to run touch " + name)
		},
	}
}
