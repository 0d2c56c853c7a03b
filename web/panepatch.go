package web

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	lineOpen    = `<span class="ln">`
	lineClose   = `</span>`
	lineBetween = lineClose + lineOpen

	takesMost = 64 // stretches of one patch; a pane of more is another pane
)

// newLines shortens a pane to the lines that the page does not have yet. data-take
// lists, in order, what the new pane is made of: "A+N" are N lines of the old one
// from A on, "N" the next N lines of this message. data-sum is the checksum of the
// whole result, by which the page finds out that it did not have what was thought;
// it then asks for all of it, by a new connection, and shows nothing of it before.
func (s *sentFragments) newLines(html string) string {
	body, end := strings.IndexByte(html, '>')+1, len(html)-len("</pre>")
	was := s.pane
	s.pane = nil
	if body == end {
		return html
	}
	s.pane = strings.Split(html[body+len(lineOpen):end-len(lineClose)], lineBetween)
	take, lines := paneEdit(was, s.pane)
	if take == "" {
		return html
	}
	var b strings.Builder
	b.WriteString(`<pre`)
	for _, name := range []string{"id", "data-seq"} {
		b.WriteString(attribute(html[:body], name))
	}
	b.WriteString(` data-take="` + take + `" data-sum="` + strconv.FormatUint(uint64(paneSum(s.pane)), 36) + `">`)
	if len(lines) > 0 {
		b.WriteString(lineOpen + strings.Join(lines, lineBetween) + lineClose)
	}
	b.WriteString(`</pre>`)
	if b.Len() >= len(html) {
		return html
	}
	return b.String()
}

// attribute is an attribute of an opening tag, as it is written there, with the
// space before it; empty if it has none of the name.
func attribute(tag, name string) string {
	i := strings.Index(tag, " "+name+`="`)
	if i < 0 {
		return ""
	}
	end := i + len(name) + 3
	return tag[i : end+strings.IndexByte(tag[end:], '"')+1]
}

// paneEdit makes now of was: take as in newLines, and the lines that are new. take
// is empty if nothing of was is worth naming.
func paneEdit(was, now []string) (take string, lines []string) {
	moved := scrolled(was, now)
	where := sync.OnceValue(func() map[string]int { // of was: the first place of each line
		m := make(map[string]int, len(was))
		for i := len(was) - 1; i >= 0; i-- {
			m[was[i]] = i
		}
		return m
	})
	var parts []string
	fresh, takes := 0, 0
	next := moved // the line of was that follows the stretch taken last
	flush := func() {
		if fresh > 0 {
			parts = append(parts, strconv.Itoa(fresh))
			fresh = 0
		}
	}
	for i := 0; i < len(now); {
		from, n := -1, 0
		try := func(at int) {
			if at < 0 || at >= len(was) {
				return
			}
			if m := common(was[at:], now[i:]); m > n {
				from, n = at, m
			}
		}
		try(next)
		try(i + moved)
		try(len(was) - (len(now) - i))
		replaced := n == 0 && next+1 < len(was) && i+1 < len(now) && was[next+1] == now[i+1]
		if n < 4 && !replaced {
			if at, ok := where()[now[i]]; ok {
				try(at)
			}
		}
		if n == 0 || takes == takesMost {
			lines = append(lines, now[i])
			fresh++
			i++
			next++
			continue
		}
		flush()
		parts = append(parts, strconv.Itoa(from)+"+"+strconv.Itoa(n))
		takes++
		i += n
		next = from + n
	}
	flush()
	if takes == 0 {
		return "", nil
	}
	return strings.Join(parts, " "), lines
}

// common is how many lines two panes begin with alike.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// scrolled is how many lines a pane has lost at its top, as far as its first lines
// tell: it is a window on the end of a longer text.
func scrolled(was, now []string) int {
	if len(now) < 4 {
		return 0
	}
	for i := range max(len(was)-3, 0) {
		if slices.Equal(was[i:i+4], now[:4]) {
			return i
		}
	}
	return 0
}

// paneSum is FNV-1a of a pane's lines over UTF-16 units, which is what a browser
// counts in; a zero unit ends each line.
func paneSum(lines []string) uint32 {
	const prime = 16777619
	h := uint32(2166136261)
	for _, line := range lines {
		for _, r := range line {
			if r > 0xffff {
				r -= 0x10000
				h = (h ^ uint32(0xd800+r>>10)) * prime
				r = 0xdc00 + r&0x3ff
			}
			h = (h ^ uint32(r)) * prime
		}
		h *= prime
	}
	return h
}
