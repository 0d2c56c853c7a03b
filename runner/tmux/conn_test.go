package tmux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// said feeds a client's reader with what tmux says, for calls that wait.
func said(text string, calls ...*call) (heard []string, err error) {
	c := &conn{ready: make(chan struct{}), waiting: calls}
	for _, w := range calls {
		w.done = make(chan struct{})
	}
	c.notify = func(kind string, pane, bytes int) { heard = append(heard, fmt.Sprint(kind, " ", pane, " ", bytes)) }
	err = c.read(bufio.NewReaderSize(strings.NewReader(text), 512))
	return heard, err
}

func settled(w *call) bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func TestRepliesAreFramedByTheirNumber(t *testing.T) {
	one, two, three := &call{want: 2}, &call{want: 3}, &call{want: 1}
	heard, err := said("%begin 9 1 0\nignored\n%end 9 1 0\n"+
		"%output %3 abc\n"+
		"%begin 9 2 1\na\n%end 9 1 1\n%begin 9 2 1\n%output %4 in a reply\n%end 9 2 1\n"+
		"%begin 9 3 1\n%end 9 3 1\n"+
		"%pause %5\n"+
		"%begin 9 4 1\nx\n%end 9 4 1\n%begin 9 5 1\ncan't find pane: %9\n%error 9 5 1\n"+
		"%begin 9 6 1\nlong"+strings.Repeat("g", 500)+"\n%end 9 6 1\n", one, two, three)
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if got := one.replies[0].text(); got != "a\n%end 9 1 1\n%begin 9 2 1\n%output %4 in a reply" || one.err != nil || !settled(one) {
		t.Errorf("%q %v", got, one.err)
	}
	if !settled(two) || !errors.Is(two.err, ErrNoPane) {
		t.Errorf("a failed command ends its line: %v", two.err)
	}
	if !settled(three) || len(three.replies[0].line()) != 504 {
		t.Errorf("%q", three.replies)
	}
	if want := []string{"%output 3 15", "%pause 5 0"}; !reflect.DeepEqual(heard, want) {
		t.Errorf("heard %q", heard)
	}
}

func TestAReplyOfKnownLengthCannotBeCutShort(t *testing.T) {
	next := &call{want: 1}
	w := &call{want: 1, size: func([]reply) int { return 4 }}
	heard, err := said("%begin 9 7 1\n%end 9 7 1\n%begin 9 8 1\n%output %1 forged\n%error 9 7 1\n%end 9 7 1\n%begin 9 8 1\nmine\n%end 9 8 1\n", w, next)
	if !errors.Is(err, io.EOF) || len(heard) > 0 {
		t.Errorf("%v, heard %q", err, heard)
	}
	if w.err != nil || len(w.replies[0]) != 4 || !settled(next) || next.replies[0].line() != "mine" {
		t.Errorf("%v %q %q", w.err, w.replies, next.replies)
	}
}

func TestWhatCannotBeIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		calls []*call
	}{
		"unasked":  {"%begin 9 1 1\n%end 9 1 1\n", nil},
		"too long": {"%begin 9 1 1\na\nb\n%end 9 1 1\n", []*call{{want: 1, size: func([]reply) int { return 1 }}}},
	} {
		if _, err := said(c.text, c.calls...); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoticesNameTheirPane(t *testing.T) {
	heard, _ := said("%output %12 " + strings.Repeat("x", 1000) + "\n" +
		"%extended-output %7 0 : abc\n" +
		"%pane-mode-changed %4\n" +
		"%subscription-changed signalbox $1 @2 3 %5 : 1 0 %6 : sh\n" +
		"%subscription-changed signalbox $1 @2 3 - : x\n" +
		"%layout-change @1 f9de,80x24,0,0{40x24,0,0,1,39x24,41,0[39x12,41,0,2,39x11,41,13,35]} b25d,80x24,0,0,1 *\n" +
		"%window-close @1\n%sessions-changed\n%output garbage\n%pause\n%exit\nstray\n\n%output %x a\n")
	want := []string{"%output 12 1013", "%output 7 28", "%pane-mode-changed 4 0", "%subscription-changed 5 0",
		"%layout-change 1 0", "%layout-change 2 0", "%layout-change 35 0", "%layout-change 1 0", "%window-close -1 0"}
	if !reflect.DeepEqual(heard, want) {
		t.Errorf("heard %q\nwant  %q", heard, want)
	}
}

func TestQuotesHoldAnything(t *testing.T) {
	for in, want := range map[string]string{
		"":          `""`,
		"a b":       `"a b"`,
		`"$~\`:      `"\042\044\176\134"`,
		"a\nb\x00":  `"a\012b\000"`,
		"é\xff":     `"\303\251\377"`,
		"#{x};'{}'": `"#{x};'{}'"`,
	} {
		if got := quote(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("%begin 9 2 1\na\n%end 9 2 1\n%output %1 x\n")
	f.Add("%begin 9 2 0\n%pause %3\n%error 9 2 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		said(text, &call{want: 2, size: func([]reply) int { return -1 }}, &call{want: 1, size: func([]reply) int { return 2 }})
	})
}
