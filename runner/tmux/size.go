package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

func sizeOK(cols, rows int) bool { return cols >= 1 && rows >= 1 && cols <= 1000 && rows <= 1000 }

// Resize gives a pane a size, as for a phone, whatever terminals show it. The
// size before the first Resize is kept on the window until Release, also over a
// restart of the runner. A window with other panes is the owner's to arrange:
// ErrShared.
func (s *Server) Resize(ctx context.Context, pane string, cols, rows int) error {
	if !sizeOK(cols, rows) {
		return fmt.Errorf("resize to %d × %d: %w", cols, rows, ErrInvalid)
	}
	w, err := s.window(ctx, pane)
	if err == nil && w.panes > 1 {
		err = ErrShared
	}
	if err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	return s.simply(ctx, "resize", pane,
		"set-option -w -o -q -F -t %s "+deskName+" '#{window_width}x#{window_height}'",
		fmt.Sprintf("resize-window -x %d -y %d -t %%s", cols, rows))
}

// Release gives the size back: to the terminals that show the window, or, if
// none does, to what it was before the first Resize. Without one it does nothing.
func (s *Server) Release(ctx context.Context, pane string) error {
	w, err := s.window(ctx, pane)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if w.cols == 0 {
		return nil
	}
	cmds := []string{"set-option -w -u -t %s window-size", "set-option -w -u -t %s " + deskName}
	if !w.viewed && w.panes == 1 {
		cmds = append([]string{fmt.Sprintf("resize-window -x %d -y %d -t %%s", w.cols, w.rows)}, cmds...)
	}
	return s.simply(ctx, "release", pane, cmds...)
}

// Fitted reports whether a pane has a size that Resize gave it.
func (s *Server) Fitted(ctx context.Context, pane string) (bool, error) {
	w, err := s.window(ctx, pane)
	if err == nil && w.panes > 1 {
		err = ErrShared
	}
	if err != nil {
		return false, fmt.Errorf("size: %w", err)
	}
	return w.cols > 0, nil
}

// LeaveMode ends copy mode, or another mode of tmux's, so that keys reach the
// program again. Whoever scrolls back at the desk loses the place.
func (s *Server) LeaveMode(ctx context.Context, pane string) error {
	return s.simply(ctx, "leave mode", pane, "copy-mode -q -t %s")
}

// window is what a resize needs to know. cols and rows are of the desk, 0 if
// there was no Resize.
type window struct {
	panes      int
	viewed     bool
	cols, rows int
}

func (s *Server) window(ctx context.Context, pane string) (w window, err error) {
	c, number, err := s.pane(pane)
	if err != nil {
		return w, err
	}
	replies, err := c.do(ctx, nil, "display-message -p -t "+target(number)+" '#{pane_id} #{window_panes} #{window_active_clients} #{"+deskName+"}'")
	if err != nil {
		return w, err
	}
	f := strings.Split(replies[0].line(), " ")
	if len(f) < 4 || f[0] == "" {
		return w, ErrNoPane
	}
	w.panes, _ = strconv.Atoi(f[1])
	w.viewed = f[2] != "" && f[2] != "0"
	if cols, rows, ok := strings.Cut(f[3], "x"); ok {
		w.cols, _ = strconv.Atoi(cols)
		w.rows, _ = strconv.Atoi(rows)
		if !sizeOK(w.cols, w.rows) {
			w.cols, w.rows = 0, 0
		}
	}
	return w, nil
}
