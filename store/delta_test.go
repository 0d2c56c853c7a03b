package store

import (
	"fmt"
	"strings"
	"testing"
)

func TestDeltas(t *testing.T) {
	screen := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "line %04d of a screen of some width\n", i)
		}
		return b.String()
	}
	long := screen(0, 60)
	if _, ok := deltaOf("x", ""); ok {
		t.Error("nothing, told by something")
	}
	for _, tt := range []struct {
		name, before, now string
		most              int // bytes; -1: no delta
	}{
		{"the same", long, long, 0},
		{"a line more", long, screen(0, 61), 48},
		{"a line less", long, screen(0, 59), 8},
		{"scrolled by one", long, screen(1, 61), 48},
		{"scrolled by ten under a footer", long + "footer\n", screen(10, 70) + "footer\n", 500},
		{"one line changed in the middle", long, strings.Replace(long, "0030", "****", 1), 48},
		{"two lines swapped", long, strings.NewReplacer("0010", "0020", "0020", "0010").Replace(long), 60},
		{"without a newline at the end", long + "x", long + "xy", 16},
		{"a newline that was missing", long + "last words here", long + "last words here\n", 32},
		{"nothing before", "", long, -1},
		{"another screen", long, screen(1000, 1060), -1},
		{"the same line many times", strings.Repeat("same line\n", 50), strings.Repeat("same line\n", 40), 12},
		{"bytes that are no text", long + "\x00\xff\n", long + "\xff\x00\x80\n", 16},
	} {
		d, ok := deltaOf(tt.before, tt.now)
		if ok != (tt.most >= 0) || ok && len(d) > tt.most {
			t.Errorf("%s: %d bytes, worth it: %v; want at most %d", tt.name, len(d), ok, tt.most)
		}
		if got, err := applyDelta(tt.before, d); err != nil || got != tt.now {
			t.Errorf("%s: it gives %q, %v\nwant %q", tt.name, got, err, tt.now)
		}
	}
	if d, _ := deltaOf(long, screen(2, 62)); addedBy(d) != screen(60, 62) {
		t.Errorf("it adds %q", addedBy(d))
	}
	for _, bad := range []string{"x", "\x05\x05\x00", "\x00\x00\x05abc", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"} {
		if got, err := applyDelta("abc", bad); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}

func FuzzDelta(f *testing.F) {
	f.Add("a\nbb\nccc\n", "bb\nccc\nd\n")
	f.Add("one line that is long\nand two\n", "and two\none line that is long\nand two")
	f.Fuzz(func(t *testing.T, before, now string) {
		d, _ := deltaOf(before, now)
		if got, err := applyDelta(before, d); before != now && now != "" && (err != nil || got != now) {
			t.Errorf("%q by %q: %q gives %q, %v", now, before, d, got, err)
		}
		addedBy(now)
		applyDelta(before, now)
	})
}

func BenchmarkDelta(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		line := "the engine prints line %05d of some sixty characters to its pane\n"
		var before, after strings.Builder
		for i := range size / 66 {
			fmt.Fprintf(&before, line, i)
			fmt.Fprintf(&after, line, i+1)
		}
		b.Run(fmt.Sprintf("scroll%dKiB", size>>10), func(b *testing.B) {
			x, y := before.String(), after.String()
			for b.Loop() {
				deltaOf(x, y)
			}
		})
		b.Run(fmt.Sprintf("other%dKiB", size>>10), func(b *testing.B) {
			x := before.String()
			y := strings.ReplaceAll(x, "line ", "LINE ")
			for b.Loop() {
				deltaOf(x, y)
			}
		})
		b.Run(fmt.Sprintf("append%dKiB", size>>10), func(b *testing.B) {
			x := before.String()
			y := x + "more\n"
			for b.Loop() {
				deltaOf(x, y)
			}
		})
	}
}
