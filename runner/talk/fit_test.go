package talk

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"signalbox/session"
)

func TestFit(t *testing.T) {
	most := session.MaxItem
	for _, c := range []struct {
		name, text string
	}{
		{"empty", ""},
		{"short", "hello\nthere"},
		{"just fits", strings.Repeat("a", most)},
		{"one too many", strings.Repeat("a", most-1) + "bc"},
		{"long", "begin" + strings.Repeat("x", 3*most) + "end"},
		{"wide characters", strings.Repeat("€", most)},
		{"no UTF-8", strings.Repeat("a\xff\xe2\x82", most)},
	} {
		kept, cut := Fit(c.text)
		if len(kept) > most || !utf8.ValidString(kept) {
			t.Errorf("%s: %d bytes, valid %v", c.name, len(kept), utf8.ValidString(kept))
		}
		if len(kept)+cut != len(c.text) {
			t.Errorf("%s: %d kept and %d cut of %d", c.name, len(kept), cut, len(c.text))
		}
		if len(c.text) <= most && utf8.ValidString(c.text) && kept != c.text {
			t.Errorf("%s: changed", c.name)
		}
		if len(c.text) > most && cut > len(c.text)-most+2*utf8.UTFMax {
			t.Errorf("%s: %d bytes were left out of %d", c.name, cut, len(c.text))
		}
	}
	if kept, _ := Fit(strings.Repeat("€", most)); strings.Trim(kept, "€") != "" {
		t.Error("it is cut in a character")
	}
	kept, _ := Fit("begin" + strings.Repeat("x", 3*most) + "end")
	if !strings.HasPrefix(kept, "begin") || !strings.HasSuffix(kept, "end") {
		t.Error("it is cut elsewhere than in the middle")
	}
}

func TestGrowingIsBounded(t *testing.T) {
	var g Growing
	for range 1 << 14 {
		g.Add(strings.Repeat("x", 100))
	}
	if n := len(g.head) + len(g.tail); n > 2*session.MaxItem {
		t.Errorf("%d bytes are held", n)
	}
}

func TestGrowingIsFitOfTheWhole(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var g Growing
		var whole strings.Builder
		for range rnd.IntN(60) {
			piece := strings.Repeat([]string{"a", "€", "😀", "\xf0\x9f"}[rnd.IntN(4)], rnd.IntN(3000))
			if rnd.IntN(20) == 0 {
				piece = strings.Repeat(piece, 40)
			}
			g.Add(piece)
			whole.WriteString(piece)
		}
		got, cut := g.Text()
		want, wantCut := Fit(whole.String())
		if got != want || cut != wantCut {
			t.Fatalf("%d bytes and %d cut, want %d and %d", len(got), cut, len(want), wantCut)
		}
	}
}
