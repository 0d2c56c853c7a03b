package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Screen is what a pane shows at one moment, and the facts beside it, all of the
// same instant.
type Screen struct {
	Pane       string
	Cols, Rows int
	Text       string // Rows rows, joined by newlines; SGR only, whose state goes on from row to row
	CursorX    int    // cells from the left, 0 first
	CursorY    int    // rows from the top, 0 first
	Visible    bool   // the cursor is shown
	Alternate  bool   // the alternate screen
	Title      string // as the program set it: may be garbage or hold the host's name
	Foreground string // the leader of the terminal's foreground process group, by its name; after its end the pane's own program
	InMode     bool   // copy mode or another of tmux's: keys do not reach the program
	History    int    // lines of scrollback
	PID        int    // of the pane's own process, which is also its group

	// Closed says that the program let go of its terminal, so that nothing can be
	// typed, and tmux does not know of its end: it is about to learn of it, or the
	// program lives on as a daemon.
	Closed bool
	Dead   bool      // the pane's own process has ended
	Exit   *int      // its exit status; nil if a signal ended it, or it lives
	Signal string    // "SIGSEGV"; empty if none
	DeadAt time.Time // by this machine's clock, whole seconds; zero if it lives or tmux is older than 3.3
}

// facts is asked before the text: its first fields hold no text of a program,
// and the lengths of those that do, in bytes.
const facts = "#{pane_id} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} " +
	"#{pane_in_mode} #{pane_dead} #{pane_dead_status} #{pane_dead_signal} #{pane_dead_time} #{pane_pid} #{history_size} " +
	"#{n:pane_title} #{pane_title} #{pane_current_command}"

// Capture reads a pane, in one round trip. It returns ErrNoPane, ErrDown or
// ErrInDoubt, after all of which the screen is simply not known.
func (s *Server) Capture(ctx context.Context, pane string) (Screen, error) {
	c, number, err := s.pane(pane)
	if err != nil {
		return Screen{}, fmt.Errorf("capture: %w", err)
	}
	cmds := []string{"display-message -p -t " + target(number) + " " + quote(facts), "capture-pane -p -e -N -t " + target(number)}
	first := 0
	if s.looking(c, number) { // before the look, so that what comes after it is told
		cmds = append([]string{"refresh-client -A " + quote(fmt.Sprintf("%%%d:continue", number))}, cmds...)
		first = 1
	}
	out := Screen{Pane: pane}
	var bad error
	replies, err := c.do(ctx, func(before []reply) int {
		if len(before) != first+1 {
			return -1
		}
		if out, bad = c.readFacts(before[first].text(), number); bad != nil {
			return -1
		}
		return out.Rows
	}, cmds...)
	if err == nil {
		err = bad
	}
	if err != nil {
		return Screen{}, fmt.Errorf("capture: %w", err)
	}
	if out.Closed {
		c.nudge()
	}
	out.Pane, out.Text = pane, rows(replies[first+1])
	return out, nil
}

// readFacts reads the answer to facts. A pane that is not there leaves its id
// empty, since tmux then formats without one.
func (c *conn) readFacts(text string, number int) (Screen, error) {
	f := strings.SplitN(text, " ", 16)
	if len(f) < 16 || f[0] != fmt.Sprintf("%%%d", number) {
		return Screen{}, ErrNoPane
	}
	num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	sc := Screen{
		Cols: num(1), Rows: num(2), CursorX: num(3), CursorY: num(4), Visible: f[5] == "1", Alternate: f[6] == "1",
		InMode: f[7] != "0" && f[7] != "", Closed: f[8] == "1", PID: num(12), History: num(13),
	}
	n, err := strconv.Atoi(f[14])
	if err != nil || n < 0 || n >= len(f[15]) || f[15][n] != ' ' || sc.Rows < 1 {
		return Screen{}, fmt.Errorf("tmux described the pane as %q", text)
	}
	sc.Title, sc.Foreground = f[15][:n], f[15][n+1:]
	if sc.Closed {
		if code, err := strconv.Atoi(f[9]); err == nil {
			sc.Exit = &code
		}
		if sc.Signal = signalName(f[10]); sc.Signal != "" {
			sc.Exit = nil
		}
		if at := num(11); at > 0 {
			sc.DeadAt = time.Unix(int64(at), 0)
		}
		sc.Dead = sc.Exit != nil || sc.Signal != "" || !sc.DeadAt.IsZero() || c.old
		sc.Closed = !sc.Dead
	}
	return sc, nil
}

// historyMost bounds History, in lines.
const historyMost = 10_000

// History returns up to the last lines of what scrolled off a pane, oldest
// first, with SGR. It is empty for programs that paint the alternate screen.
func (s *Server) History(ctx context.Context, pane string, lines int) (string, error) {
	c, number, err := s.pane(pane)
	if err != nil {
		return "", fmt.Errorf("history: %w", err)
	}
	lines = min(lines, historyMost)
	// tmux counts from the newest, and gives the first line of the screen where
	// there is no history: what was asked for is known only with the count.
	have := 0
	var bad error
	replies, err := c.do(ctx, func(before []reply) int {
		if len(before) != 1 {
			return -1
		}
		var sc Screen
		if sc, bad = c.readFacts(before[0].text(), number); bad != nil {
			return -1
		}
		if have = min(lines, sc.History); have <= 0 {
			return 1
		}
		return have
	}, "display-message -p -t "+target(number)+" "+quote(facts),
		fmt.Sprintf("capture-pane -p -e -N -S -%d -E -1 -t %s", max(lines, 1), target(number)))
	if err == nil {
		err = bad
	}
	if err != nil {
		return "", fmt.Errorf("history: %w", err)
	}
	if have <= 0 {
		return "", nil
	}
	return rows(replies[1]), nil
}
