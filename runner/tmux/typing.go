package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"signalbox/session"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PasteMost is the longest text that Paste takes, in bytes.
const PasteMost = 4 << 20

// Paste types text as one bracketed paste, so that "C-c", "-t x", newlines and
// tabs stay text. It ends nothing with Enter. Text is UTF-8 whose only control
// characters are newline and tab, since an escape could end the brackets:
// anything else is ErrInvalid. A program that did not ask for bracketed paste
// gets the bare text, in which a newline is what it makes of it.
//
// seen is the screen that the caller judged fit to type into; tmux itself
// compares it with the pane in the instant before typing, and if it is not the
// same process, foreground program, size, screen and cursor, nothing is typed
// and ErrChanged returned. With nil only ErrDead and ErrInMode guard.
// After ErrInDoubt the text may or may not have been typed.
func (s *Server) Paste(ctx context.Context, pane, text string, seen *Screen) error {
	if err := pasteable(text); err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	if text == "" {
		return nil
	}
	// A file, since tmux keeps the commands it is given in a message log; beside
	// the socket, where tmux surely sees it. Its mode is 0600.
	file, err := os.CreateTemp(filepath.Dir(s.cfg.Socket), "signalbox-paste-*")
	if err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	c, number, err := s.pane(pane)
	if err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	buffer := "signalbox-" + random()
	err = typeInto(ctx, c, number, seen, 1, "load-buffer -b "+buffer+" "+quote(file.Name())+" ; ",
		"paste-buffer -p -r -d -b "+buffer+" -t "+target(number))
	if err != nil {
		if !errors.Is(err, ErrDown) {
			c.do(context.WithoutCancel(ctx), nil, "delete-buffer -b "+buffer)
		}
		return fmt.Errorf("paste: %w", err)
	}
	return nil
}

func pasteable(text string) error {
	if len(text) > PasteMost {
		return fmt.Errorf("%d bytes are more than %d: %w", len(text), PasteMost, ErrInvalid)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("text that is not UTF-8: %w", ErrInvalid)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		return fmt.Errorf("control character %U: %w", []rune(text[i:])[0], ErrInvalid)
	}
	return nil
}

// Keys presses keys, all or, after a refusal, none. What session.CheckKeys does
// not take is ErrInvalid. seen guards as
// in Paste; with nil what the pane shows does not matter, as for an interrupt.
func (s *Server) Keys(ctx context.Context, pane string, seen *Screen, keys ...string) error {
	if err := session.CheckKeys(keys); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c, number, err := s.pane(pane)
	if err == nil {
		err = typeInto(ctx, c, number, seen, 0, "", "send-keys -t "+target(number)+" -- "+quoteAll(keys))
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// typeInto has tmux judge the pane and, if it is as it should be, run typing, in
// one step: what tmux has read from the program until then is in the judgement.
// before are commands that come first, n of them, each ending with " ; ".
func typeInto(ctx context.Context, c *conn, number int, seen *Screen, n int, before, typing string) error {
	// A pane that is gone has no id, and then nothing here is true of it.
	conditions := []string{fmt.Sprintf("#{m:?%d,#{pane_id}}", number), "#{==:#{pane_dead},0}", "#{==:#{pane_in_mode},0}"}
	if seen != nil {
		if seen.Dead || seen.Closed || seen.InMode {
			return ErrChanged
		}
		conditions = append(conditions,
			fmt.Sprintf("#{==:#{pane_pid} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on},%d %d %d %d %d %d %d}",
				seen.PID, seen.Cols, seen.Rows, seen.CursorX, seen.CursorY, bit(seen.Visible), bit(seen.Alternate)),
			"#{m:"+pattern(seen.Foreground)+",#{pane_current_command}}")
	}
	condition := conditions[0]
	for _, other := range conditions[1:] {
		condition = "#{&&:" + condition + "," + other + "}"
	}
	const refused = "refused"
	line := before + "if-shell -F -t " + target(number) + " " + quote(condition) + " " + quote(typing) + " " +
		quote("display-message -p -t "+target(number)+" '"+refused+" #{pane_dead} #{pane_in_mode}'")
	replies, err := c.run(ctx, nil, n+2, line)
	if err != nil {
		return err
	}
	f := strings.Split(replies[n+1].line(), " ")
	switch {
	case f[0] != refused:
		return nil
	case len(f) != 3 || f[1] == "":
		return ErrNoPane
	case f[1] == "1":
		return ErrDead
	case f[2] != "0":
		return ErrInMode
	}
	return ErrChanged
}

// pattern matches a program's name; what could mean something in a format or a
// pattern stands for any one character.
func pattern(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '?'
	}, name)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
