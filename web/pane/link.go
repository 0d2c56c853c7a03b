package pane

import (
	"bytes"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"
)

// WebAddress reads an address that a page may lead to: http or https, to a host
// that is written in ASCII, so that its name cannot look like another, and with
// nobody's name before the host, which could look like one.
func WebAddress(to string) (*url.URL, bool) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, false
	}
	for _, c := range u.Host {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`\%<>"'`, c) {
			return nil, false
		}
	}
	return u, true
}

// longestAddress is what a link may lead to, in bytes.
const longestAddress = 2048

// inAddress are the ASCII characters that an address may hold as they are.
var inAddress = func() (in [128]bool) {
	for c := '!'; c <= '~'; c++ {
		in[c] = !strings.ContainsRune("<>\"'`{}|\\^", c)
	}
	return in
}()

// linked wraps the addresses in a line's HTML in links. They lead where they say,
// in full: what is cut, goes on in another colour, or is followed by a character
// that may belong to it stays text. An address that the terminal broke into rows leads
// to the whole of it from each, see brokenAddresses.
func (r *renderer) linked(line []byte) []byte {
	var out []byte
	from := 0 // of line, what is not in out yet
	at := 0
	link := func(begin, end int, to string) {
		r.spans++
		out = append(out, line[from:begin]...)
		out = append(out, `<a href="`...)
		out = append(out, to...)
		out = append(out, `" target="_blank" rel="noopener noreferrer">`...)
		out = append(out, line[begin:end]...)
		out = append(out, `</a>`...)
		from, at = end, end
	}
	b := r.broken[r.row]
	if b.head != "" {
		begin := 0
		for begin < len(line) && line[begin] == '<' {
			begin += bytes.IndexByte(line[begin:], '>') + 1
		}
		if head := html.EscapeString(b.head); bytes.HasPrefix(line[begin:], []byte(head)) {
			link(begin, begin+len(head), html.EscapeString(b.on))
		}
	}
	for r.spans < maxSpans {
		i := bytes.Index(line[at:], []byte("http"))
		if i < 0 {
			break
		}
		begin := at + i
		end, raw, whole := address(line, begin)
		at = max(end, begin+4)
		if wordBefore(line, begin) {
			continue
		}
		if tail := html.EscapeString(b.tail); tail != "" && endsAddress(line[min(begin+len(tail), len(line)):]) && bytes.HasPrefix(line[begin:], []byte(tail)) {
			if at = begin + len(tail); b.to != "" {
				link(begin, at, html.EscapeString(b.to))
			}
			continue
		}
		if _, ok := WebAddress(raw); ok && whole {
			link(begin, end, string(line[begin:end])) // escaped as it stands
		}
	}
	if from == 0 {
		return line
	}
	return append(out, line[from:]...)
}

// address reads the address that begins at begin: where it ends in line, and its
// characters. whole is false if it may go on behind that.
func address(line []byte, begin int) (end int, raw string, whole bool) {
	end = begin
	if rest := line[begin:]; !bytes.HasPrefix(rest, []byte("http://")) && !bytes.HasPrefix(rest, []byte("https://")) {
		return end, "", false
	}
	var b strings.Builder
	for end < len(line) && b.Len() < longestAddress {
		c := line[end]
		if c == '&' { // of the entities, which renderer.entity writes, one may stand in an address
			if !bytes.HasPrefix(line[end:], []byte("&amp;")) {
				break
			}
			end += len("&amp;")
		} else if c < utf8.RuneSelf && inAddress[c] {
			end++
		} else {
			break
		}
		b.WriteByte(c)
	}
	raw = b.String()
	whole = b.Len() < longestAddress && endsAddress(line[end:]) && !strings.HasSuffix(raw, "...")
	n := trimmed(raw)
	return end - n, raw[:len(raw)-n], whole
}

// trimmed is how many of the last characters of an address close a sentence or a bracket
// that was opened before, so that they are not part of it.
func trimmed(raw string) (n int) {
	for raw != "" {
		last := raw[len(raw)-1]
		open := strings.IndexByte(")]", last)
		if !strings.ContainsRune(".,;:!?*_~", rune(last)) && (open < 0 || strings.Count(raw, string(last)) <= strings.Count(raw, "(["[open:open+1])) {
			break
		}
		raw, n = raw[:len(raw)-1], n+1
	}
	return n
}

// endsAddress reports whether an address that rest follows surely ends there. A tag
// is passed over: the text may go on in another colour.
func endsAddress(rest []byte) bool {
	for len(rest) > 0 && rest[0] == '<' {
		i := bytes.IndexByte(rest, '>')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	if len(rest) == 0 {
		return true
	}
	c, _ := utf8.DecodeRune(rest)
	if c < utf8.RuneSelf {
		return c != '\\' && (c == '&' && !bytes.HasPrefix(rest, []byte("&amp;")) || c != '&' && !inAddress[c])
	}
	return c >= 0x2500 && c <= 0x259f // boxes and blocks, which TUIs draw around text
}

// wordBefore reports whether the text goes on from before i without a break.
func wordBefore(line []byte, i int) bool {
	if i == 0 {
		return false
	}
	c, _ := utf8.DecodeLastRune(line[:i])
	switch {
	case c == '>' || c == ';': // a tag or an entity, or what is written so
		return false
	case c >= utf8.RuneSelf:
		return c < 0x2500 || c > 0x259f
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("-_./@+", c)
}
