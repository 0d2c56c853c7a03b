package pane

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// broken is what is known of one row of a screen at whose end an address was broken, or
// which goes on with one.
type broken struct {
	tail string // the end of the row, which begins an address; empty: none is broken here
	head string // the beginning of the row, which goes on with one; empty: it does not
	to   string // where tail leads; empty: that is not sure, so it is no link
	on   string // where head leads
}

// brokenAddresses finds the addresses that a terminal broke at its last column: the row
// is full, and the next goes on at its first column. Where what follows may as well be a
// word of its own, the row leads nowhere: half an address is another one. It is pure.
func brokenAddresses(text string, cols int) map[int]broken {
	if cols <= 0 || !strings.Contains(text, "http") {
		return nil
	}
	rows := strings.Split(text, "\n")
	found := map[int]broken{}
	full := func(i int) bool { return i+1 < len(rows) && displaywidth.String(rows[i]) == cols }
	for i, row := range rows {
		begin := max(strings.LastIndex(row, "http://"), strings.LastIndex(row, "https://"))
		if begin < 0 || !full(i) || addressLength(row[begin:]) < len(row)-begin {
			continue
		}
		to, last := row[begin:], i
		for full(last) && addressLength(rows[last]) == len(rows[last]) || last == i {
			last++
			n := addressLength(rows[last])
			to += rows[last][:n]
			if n < len(rows[last]) {
				break
			}
		}
		next := rows[i+1]
		head := next[:addressLength(next)]
		switch {
		case strings.TrimLeft(next, " ") == "" || head == "" && addressLength(strings.TrimLeft(next, " ")) == 0:
			continue // nothing goes on: the address ended with its row
		case !ofAddress(head):
			to = ""
		}
		to = to[:len(to)-trimmed(to)]
		if _, ok := WebAddress(to); !ok || len(to) >= longestAddress {
			to = ""
		}
		b := found[i]
		b.tail, b.to = row[begin:], to
		found[i] = b
		left := len(to) - len(b.tail)
		for k := i + 1; k <= last && left > 0; k++ {
			n := min(left, addressLength(rows[k]))
			found[k] = broken{head: rows[k][:n], on: to}
			left -= n
		}
	}
	return found
}

// ofAddress reports whether a word at the beginning of a row is rather the rest of an
// address than a word of its own.
func ofAddress(word string) bool {
	const long = 8
	switch {
	case strings.HasPrefix(word, "http"), strings.HasSuffix(word, "..."):
		return false
	case strings.ContainsAny(word, "?=&%#"):
		return true
	case len(word) < long || word[0] == '/':
		return false
	}
	return strings.ContainsAny(word, "/_") || strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, unicode.IsLetter)
}

// addressLength is how many of the bytes that s begins with may stand in an address.
func addressLength(s string) int {
	for i := range len(s) {
		if s[i] >= 0x80 || !inAddress[s[i]] {
			return i
		}
	}
	return len(s)
}
