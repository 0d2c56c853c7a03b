package store

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"strings"
)

// A delta tells a pane by the one before it: any number of steps, each "copy that
// many bytes of the pane before from there, then add these bytes". Lines are copied
// whole, so what a delta adds are whole lines: a search finds them in it. The empty
// delta is the same pane again.
//
//	step = uvarint from, uvarint length, uvarint added, bytes added

// deltaOf tells now by before. ok is false where that is no shorter than now by a
// quarter at least.
func deltaOf(before, now string) (delta string, ok bool) {
	if before == now {
		return "", true
	}
	if now == "" {
		return "", false // the empty delta is another thing
	}
	head := commonHead(before, now)
	tail := commonTail(before[head:], now[head:])
	w := deltaWriter{most: len(now) * 3 / 4, before: before}
	w.copy(0, head)
	w.middle(before[:len(before)-tail], now[:len(now)-tail], head)
	w.copy(len(before)-tail, tail)
	w.end()
	return string(w.out), len(w.out) <= w.most
}

// commonHead is how many bytes of whole lines a and b begin with alike.
func commonHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], '\n') + 1
}

// commonTail is how many bytes of whole lines a and b end with alike.
func commonTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	same := a[len(a)-n:]
	if n == len(a) && (n == len(b) || b[len(b)-1-n] == '\n') || n == len(b) && n < len(a) && a[len(a)-1-n] == '\n' {
		return n
	}
	i := strings.IndexByte(same, '\n')
	if i < 0 {
		return 0
	}
	return n - i - 1
}

// deltaWriter collects steps. A copy that continues the one before it joins it.
type deltaWriter struct {
	out        []byte
	before     string
	most       int // bytes after which it is not worth it
	from, size int // the copy that is open
	add        []string
	addBytes   int
}

func (w *deltaWriter) copy(from, size int) {
	if size == 0 {
		return
	}
	if w.addBytes == 0 && (w.size == 0 || w.from+w.size == from) {
		if w.size == 0 {
			w.from = from
		}
		w.size += size
		return
	}
	w.end()
	w.from, w.size = from, size
}

func (w *deltaWriter) insert(line string) {
	w.add = append(w.add, line)
	w.addBytes += len(line)
}

// end writes the step that is open.
func (w *deltaWriter) end() {
	if w.size == 0 && w.addBytes == 0 {
		return
	}
	w.out = binary.AppendUvarint(w.out, uint64(w.from))
	w.out = binary.AppendUvarint(w.out, uint64(w.size))
	w.out = binary.AppendUvarint(w.out, uint64(w.addBytes))
	for _, line := range w.add {
		w.out = append(w.out, line...)
	}
	w.from, w.size, w.add, w.addBytes = 0, 0, w.add[:0], 0
}

// linesWorthIt is the shortest line that is looked for elsewhere: a step costs as
// much as a shorter one.
const linesWorthIt = 6

// middle tells now[head:] by the lines of before[head:], wherever they stood: a
// screen that scrolls has most of them again.
func (w *deltaWriter) middle(before, now string, head int) {
	if newAtLeast(before[head:], now[head:]) > w.most {
		w.insert(now[head:])
		return
	}
	at := map[string]int{} // the first place of a line
	for i := head; i < len(before); {
		end := lineEnd(before, i)
		if line := before[i:end]; len(line) >= linesWorthIt {
			if _, there := at[line]; !there {
				at[line] = i
			}
		}
		i = end
	}
	next := -1 // where the copy that is open would go on
	for i := head; i < len(now); {
		end := lineEnd(now, i)
		line := now[i:end]
		if next >= 0 && strings.HasPrefix(before[next:], line) && line != "" && (line[len(line)-1] == '\n' || next+len(line) == len(before)) {
			w.copy(next, len(line))
			next += len(line)
		} else if from, there := at[line]; there {
			w.copy(from, len(line))
			next = from + len(line)
		} else {
			w.insert(line)
			next = -1
			if w.addBytes > w.most {
				w.insert(now[end:]) // it is not worth it; the rest makes it whole
				return
			}
		}
		i = end
	}
}

// newAtLeast is how many bytes of now stand in lines that before has not, at least.
// It costs a tenth of finding out which: most screens are either alike or not at all.
func newAtLeast(before, now string) (n int) {
	var seen [64]uint64 // a Bloom filter of one hash
	for i := 0; i < len(before); {
		end := lineEnd(before, i)
		h := maphash.String(lineSeed, before[i:end])
		seen[h&63] |= 1 << (h >> 6 & 63)
		i = end
	}
	for i := 0; i < len(now); {
		end := lineEnd(now, i)
		if h := maphash.String(lineSeed, now[i:end]); seen[h&63]&(1<<(h>>6&63)) == 0 {
			n += end - i
		}
		i = end
	}
	return n
}

var lineSeed = maphash.MakeSeed()

// lineEnd is where the line that begins at s[i] ends, with its newline.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(s)
}

var errDelta = errors.New("this delta is not of the pane before it")

// applyDelta is the pane that delta tells by before.
func applyDelta(before, delta string) (string, error) {
	if delta == "" {
		return before, nil
	}
	var b strings.Builder
	data := []byte(delta)
	for len(data) > 0 {
		var n [3]uint64
		for i := range n {
			v, size := binary.Uvarint(data)
			if size <= 0 {
				return "", errDelta
			}
			n[i], data = v, data[size:]
		}
		from, size, add := n[0], n[1], n[2]
		if from > uint64(len(before)) || size > uint64(len(before))-from || add > uint64(len(data)) {
			return "", errDelta
		}
		b.WriteString(before[from : from+size])
		b.Write(data[:add])
		data = data[add:]
	}
	return b.String(), nil
}

// addedBy is the text that a delta adds, each step's on lines of its own.
func addedBy(delta string) string {
	var b strings.Builder
	data := []byte(delta)
	for len(data) > 0 {
		var n [3]uint64
		for i := range n {
			v, size := binary.Uvarint(data)
			if size <= 0 {
				return b.String()
			}
			n[i], data = v, data[size:]
		}
		add := min(n[2], uint64(len(data)))
		b.Write(data[:add])
		if add > 0 && data[add-1] != '\n' {
			b.WriteByte('\n')
		}
		data = data[add:]
	}
	return b.String()
}
