package runner

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"signalbox/detect"
	"signalbox/runner/tmux"
	"signalbox/session"
)

// view is one look at a screen: what tmux shows and what detection makes of it.
type view struct {
	tmux.Screen
	read     session.Reading
	field    detect.Field
	composed bool // field is drawn
}

// typeable says whether a text can be typed at all: as a paste whose brackets
// nothing in it could end.
func typeable(text string) (session.Result, bool) {
	bad := session.Result{Code: session.CodeInvalid}
	switch {
	case strings.TrimSpace(text) == "":
		bad.Message = "The message is empty."
	case !utf8.ValidString(text):
		bad.Message = "The message is not UTF-8 text."
	case len(text) > tmux.PasteMost:
		bad.Message = "The message is too long to be typed. Put it in a file and name the file."
	case strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) >= 0:
		bad.Message = "The message holds a control character, which cannot be typed as text. Remove it and send it again."
	default:
		return session.Result{}, true
	}
	return bad, false
}

// closing is what is typed after a text so that it stays as it is: a list of
// files that opens for its last word would take the Enter, and a space closes it.
// A text that is a command goes as it is: where it names one, Enter runs that.
func closing(text string) string {
	last := text[strings.LastIndexFunc(text, unicode.IsSpace)+1:]
	if strings.HasPrefix(last, "@") || strings.HasPrefix(last, "$") || strings.HasPrefix(last, "#") {
		return " "
	}
	return ""
}

// folded is how engines show a long paste: "[Pasted Content 2048 chars]",
// "[Pasted text #1 +40 lines]", "[Pasted ~40 lines]", "[Saved pasted content to
// workspace (100.0 KB) id=1]"; without spaces.
var folded = regexp.MustCompile(`^\[(?:Saved)?[Pp]asted?[^\]\[]*\]`)

var kilobytes = regexp.MustCompile(`([0-9]+\.[0-9])KB`)

var number = regexp.MustCompile(`[0-9]+`)

// drafted reports whether words that somebody typed stand in the composer.
func (v view) drafted() bool { return v.composed && v.field.Words }

// above is what is shown above the composer.
func (v view) above() string {
	rows := strings.SplitN(plain(v.Text), "\n", v.field.Row+1)
	return squash(strings.Join(rows[:min(v.field.Row, len(rows))], ""))
}

// answered reports whether something stands under the message that begins with
// words and has so many bytes. A command may do its work and show nothing.
func (v view) answered(words string, length int) bool {
	if length == 0 || strings.HasPrefix(words, "/") || strings.HasPrefix(words, "!") || !v.composed {
		return true
	}
	above := v.above()
	at := strings.LastIndex(above, words)
	return at >= 0 && len(above)-at > length
}

// stands reports whether exactly this text stands in the composer. Spaces do not
// count, since engines wrap. Of a folded paste the number of its lines or
// characters has to be right.
func (v view) stands(text string) bool {
	if v.read.Prompt != nil || v.read.Status == session.StatusWaiting || v.Dead || v.InMode || !v.drafted() {
		return false
	}
	rows := strings.Split(plain(v.Text), "\n")
	if v.field.Row >= len(rows) {
		return false
	}
	want := squash(text)
	got := ""
	for i, row := range rows[v.field.Row:] {
		got += squash(row)
		bare := got
		if g, n := utf8.DecodeRuneInString(got); strings.ContainsRune("›❯>!$*", g) {
			bare = got[n:]
		}
		if got == want || bare == want {
			return true
		}
		if m := folded.FindString(bare); m != "" && i < 4 && foldOf(m, text) {
			return true
		}
		if len(bare) > len(want) && len(got) > 200 {
			break
		}
	}
	return v.endsWith(want, rows)
}

// tallLeast is how many rows a composer has to show of a text that is too tall
// for it.
const tallLeast = 6

// endsWith reports whether the composer shows the end of a text that it has no
// room for, as far as the cursor.
func (v view) endsWith(want string, rows []string) bool {
	last := min(max(v.CursorY, v.field.Row), len(rows)-1)
	if last-v.field.Row+1 < tallLeast {
		return false
	}
	got := ""
	for _, row := range rows[v.field.Row : last+1] {
		got += squash(strings.TrimRight(strings.TrimRight(row, " "), "↑↓"))
	}
	if g, n := utf8.DecodeRuneInString(got); strings.ContainsRune("›❯>", g) {
		got = got[n:]
	}
	return len(got) > 0 && strings.HasSuffix(want, got)
}

// ordinal is the paste's own number in Claude's "[Pasted text #3 +40 lines]".
var ordinal = regexp.MustCompile(`#[0-9]+`)

// foldOf reports whether a number in a folded paste is that of text's lines or
// characters, a line more or less. Without a number it can be any of one line.
func foldOf(mark, text string) bool {
	mark = ordinal.ReplaceAllString(mark, "")
	if m := kilobytes.FindStringSubmatch(mark); m != nil {
		kb, _ := strconv.ParseFloat(m[1], 64)
		return math.Abs(kb*1024-float64(len(text))) <= 128
	}
	if !number.MatchString(mark) {
		return !strings.Contains(text, "\n")
	}
	lines, chars, units := strings.Count(text, "\n"), utf8.RuneCountInString(text), 0
	for _, r := range text {
		units++
		if r > 0xffff {
			units++
		}
	}
	for _, n := range number.FindAllString(mark, -1) {
		switch k, _ := strconv.Atoi(n); k {
		case lines - 1, lines, lines + 1, chars, chars + 1, units, units + 1, len(text), len(text) + 1:
			return true
		}
	}
	return false
}

// squash leaves of text what can be compared with a screen: no spaces, frames,
// joiners or marks that a terminal may draw elsewhere.
func squash(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u00a0', r >= 0x2500 && r <= 0x259f, unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r), unicode.IsControl(r),
			r >= 0x1f3fb && r <= 0x1f3ff:
			return -1
		}
		return r
	}, text)
}
