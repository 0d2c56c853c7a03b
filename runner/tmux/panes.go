package tmux

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Pane is one pane of the server, as a list gives it.
type Pane struct {
	// ID names the pane for every call here, and never another: tmux's number, and
	// the server that gave it ("%3@812.1796036298"), since numbers begin anew
	// with each server. An ID stays good when the runner restarts.
	ID      string
	Name    string // of its session, for "tmux attach -t"
	Where   string // "work:1.0": its session, window and place, as the owner calls it
	Mark    string // what SetMark put there; empty: not ours
	PID     int    // of the pane's own process
	Dead    bool   // that process has ended
	Command string // the foreground program
	Title   string // raw, as Screen.Title
	Dir     string // the foreground program's folder, control characters replaced
	Cols    int
	Rows    int
	Panes   int  // panes in its window; above 1, its size is not ours to set
	Viewed  bool // a terminal is attached that shows its window
	number  int
	hub     bool // the hub's own
	linked  bool // the client hears it
}

// Number returns what tmux itself calls the pane, "%3", for the owner to type.
func (p Pane) Number() string { return fmt.Sprintf("%%%d", p.number) }

// clean is a format for a value without control characters, byte for byte, so
// that a folder or program with a newline in its name cannot add lines.
func clean(name string) string { return "#{s/[\001-\037\177]/?/:" + name + "}" }

// listing gives lengths of what may hold spaces, but not of what is read afresh
// from the system each time it is named: the foreground program, whose name tmux
// cuts at a space, and its folder, which comes last.
var listing = strings.Join([]string{
	"#{pane_id} #{pane_pid} #{pane_dead} #{pane_width} #{pane_height} #{window_panes} #{window_active_clients} #{window_index}.#{pane_index} #{" + hubMark + "}",
	"#{n:session_name} #{n:" + markName + "} #{n:pane_title}",
	clean("session_name"), clean(markName), clean("pane_title"), clean("pane_current_command"), clean("pane_current_path"),
}, " ")

// Panes lists every pane of the server but the hub's own. Those with a Mark are
// ours, also after a restart of the runner.
func (s *Server) Panes(ctx context.Context) ([]Pane, error) {
	c, err := s.connected()
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	all, err := s.list(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	out := all[:0]
	for _, p := range all {
		if !p.hub {
			out = append(out, p)
		}
	}
	return out, nil
}

// list lists each pane once, by the session that is not a hub where there is one.
func (s *Server) list(ctx context.Context, c *conn) ([]Pane, error) {
	replies, err := c.do(ctx, nil, "list-panes -a -F "+quote(listing))
	if err != nil {
		return nil, err
	}
	var all []Pane
	at := map[int]int{}
	for _, line := range replies[0] {
		p, err := readPane(string(line))
		if err != nil {
			return nil, err
		}
		p.ID = fmt.Sprintf("%%%d@%s", p.number, c.gen)
		p.linked = p.Name == c.hub
		i, twice := at[p.number]
		switch {
		case !twice:
			at[p.number] = len(all)
			all = append(all, p)
		case strings.HasPrefix(all[i].Name, hubName):
			p.linked = p.linked || all[i].linked
			all[i] = p
		default:
			all[i].linked = all[i].linked || p.linked
		}
	}
	return all, nil
}

func readPane(line string) (p Pane, err error) {
	f := strings.SplitN(line, " ", 13)
	if len(f) < 13 {
		return p, fmt.Errorf("tmux listed a pane as %q", line)
	}
	if p.number = paneNumber([]byte(f[0])); p.number < 0 {
		return p, fmt.Errorf("tmux listed a pane as %q", line)
	}
	num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	p.PID, p.Dead, p.Cols, p.Rows, p.Panes, p.Viewed, p.hub = num(1), f[2] == "1", num(3), num(4), num(5), num(6) > 0, f[8] != ""
	rest := f[12]
	for i, into := range []*string{&p.Name, &p.Mark, &p.Title} {
		n := num(9 + i)
		if n < 0 || n >= len(rest) || rest[n] != ' ' {
			return p, fmt.Errorf("tmux listed a pane as %q", line)
		}
		*into, rest = rest[:n], rest[n+1:]
	}
	p.Where = p.Name + ":" + f[7]
	p.Command, p.Dir, _ = strings.Cut(rest, " ")
	return p, nil
}

// markLike is what a mark may be: what needs no quoting anywhere.
var markLike = regexp.MustCompile(`^[A-Za-z0-9_.:@/-]{1,200}$`)

// SetMark marks a pane as ours, for Panes to show; an empty mark takes it back.
// A mark is 1 to 200 of the characters A-Z a-z 0-9 _ . : @ / -.
func (s *Server) SetMark(ctx context.Context, pane, mark string) error {
	cmd, err := markCommand(mark)
	if err != nil {
		return err
	}
	return s.simply(ctx, "mark pane", pane, cmd)
}

func markCommand(mark string) (string, error) {
	if mark == "" {
		return "set-option -p -u -t %s " + markName, nil
	}
	if !markLike.MatchString(mark) {
		return "", fmt.Errorf("mark pane: %q: %w", mark, ErrInvalid)
	}
	return "set-option -p -t %s " + markName + " " + mark, nil
}

// Adopt makes a pane that the owner started one of ours: it is marked, heard,
// and kept after its program's end, so that the exit is a fact. It returns what
// it changed on the owner's server, in words for the owner. All else stays.
func (s *Server) Adopt(ctx context.Context, pane, mark string) (changed []string, err error) {
	c, number, err := s.pane(pane)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	cmd, err := markCommand(mark)
	if err != nil || mark == "" {
		return nil, fmt.Errorf("adopt: %q: %w", mark, ErrInvalid)
	}
	if err := s.simply(ctx, "adopt", pane, cmd, "set-option -p -t %s remain-on-exit on"); err != nil {
		return nil, err
	}
	all, err := s.list(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	for _, p := range all {
		if p.number == number && !p.linked {
			if err := link(ctx, c, number); err != nil {
				return nil, fmt.Errorf("adopt: %w", err)
			}
		}
	}
	return []string{
		"remain-on-exit is on for this one pane: it stays when its program ends, until it is let go or killed",
		markName + " is set on it",
		"its window is also in a session of ours, " + c.hub + ", which goes when the runner does; until then, killing your session does not end the program",
	}, nil
}

// Leave takes back what Adopt did. A pane whose program has ended is removed.
func (s *Server) Leave(ctx context.Context, pane string) error {
	c, number, err := s.pane(pane)
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	if err := s.simply(ctx, "leave", pane, "set-option -p -u -t %s "+markName, "set-option -p -u -t %s remain-on-exit"); err != nil {
		return err
	}
	if sc, err := s.Capture(ctx, pane); err == nil && sc.Dead {
		return s.simply(ctx, "leave", pane, "kill-pane -t %s")
	}
	// Other panes of ours in the same window keep it heard.
	window, err := c.do(ctx, nil, "display-message -p -t "+target(number)+" '#{window_id} #{W:#{P:#{?"+markName+",#{window_id} ,}}}'")
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	id, marked, _ := strings.Cut(window[0].line(), " ")
	if id != "" && !strings.Contains(" "+marked+" ", " "+id+" ") {
		_, err = c.do(ctx, nil, "unlink-window -t "+quote("="+c.hub+":"+id))
	}
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// splitID reads a Pane.ID.
func splitID(id string) (gen string, number int, err error) {
	tmux, gen, ok := strings.Cut(id, "@")
	if number = paneNumber([]byte(tmux)); !ok || number < 0 {
		return "", 0, fmt.Errorf("pane %q: %w", id, ErrInvalid)
	}
	return gen, number, nil
}

func (s *Server) connected() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, s.why
	}
	return s.conn, nil
}

// pane returns the client and tmux's number of a pane.
func (s *Server) pane(id string) (*conn, int, error) {
	gen, number, err := splitID(id)
	if err != nil {
		return nil, 0, err
	}
	c, err := s.connected()
	if err != nil {
		return nil, 0, err
	}
	if gen != c.gen {
		return nil, 0, fmt.Errorf("%w: its tmux server has ended", ErrNoPane)
	}
	return c, number, nil
}

// simply runs commands on a pane, which stands in them as %s.
func (s *Server) simply(ctx context.Context, doing, pane string, cmds ...string) error {
	c, number, err := s.pane(pane)
	if err == nil {
		for i, cmd := range cmds {
			cmds[i] = strings.ReplaceAll(cmd, "%s", target(number))
		}
		_, err = c.do(ctx, nil, cmds...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
