package runner

import (
	"fmt"
	"strings"
	"time"

	"signalbox/session"
)

// A transcript is the pane of an engine that speaks a protocol: its conversation
// as readable text. It is pure. A change of one entry draws only that entry anew.
type transcript struct {
	rows  []*row
	byKey map[string]*row
}

// row is one entry: an item, or lines that are not of the protocol.
type row struct {
	key   string // of an item; empty for lines
	text  string
	item  session.Item
	stale bool // item is newer than text
}

// put shows an item, in its place if it stands there already.
func (p *transcript) put(key string, it session.Item) {
	r := p.byKey[key]
	if r == nil {
		r = &row{key: key}
		if p.byKey == nil {
			p.byKey = map[string]*row{}
		}
		p.byKey[key] = r
		p.rows = append(p.rows, r)
	}
	r.item, r.stale = it, true
}

// take takes an entry away.
func (p *transcript) take(key string) {
	r := p.byKey[key]
	if r == nil {
		return
	}
	delete(p.byKey, key)
	for i, x := range p.rows {
		if x == r {
			p.rows = append(p.rows[:i], p.rows[i+1:]...)
			return
		}
	}
}

// lineShown is the most that is shown of one line that is of no item, in bytes.
const lineShown = 8 << 10

// line shows a line that is of no item.
func (p *transcript) line(text string) {
	text, _ = middleCut(strings.TrimRight(plain(text), "\n"), lineShown)
	text += "\n"
	if n := len(p.rows); n > 0 && p.rows[n-1].key == "" && len(p.rows[n-1].text) < 4<<10 {
		p.rows[n-1].text += text
		return
	}
	p.rows = append(p.rows, &row{text: text})
}

// text is what is to be shown, at most paneMost bytes cut at a line. Entries that
// have scrolled far out of it are forgotten.
func (p *transcript) text() string {
	size, first := 0, len(p.rows)
	for first > 0 && size <= 2*paneMost {
		first--
		r := p.rows[first]
		if r.stale {
			r.text, r.stale = rendered(r.item), false
		}
		size += len(r.text)
	}
	for _, r := range p.rows[:first] {
		delete(p.byKey, r.key)
	}
	p.rows = append([]*row(nil), p.rows[first:]...)
	size, first = 0, len(p.rows)
	for first > 0 && size <= paneMost {
		first--
		size += len(p.rows[first].text)
	}
	all := make([]byte, 0, size)
	for _, r := range p.rows[first:] {
		all = append(all, r.text...)
	}
	return string(tail(all))
}

// How much of long entries the pane shows, in lines.
const (
	outputHead, outputTail = 6, 6
	diffLines              = 40
	thoughtLines           = 12
)

// rendered is an item as text, whole lines.
func rendered(it session.Item) string {
	title, text := strings.TrimSpace(plain(it.Title)), strings.Trim(plain(it.Text), "\n")
	var b strings.Builder
	switch it.Kind {
	case session.ItemOwner:
		return session.Echo(echoed(text), it.At.Local())
	case session.ItemAnswer:
		write(&b, "", text)
	case session.ItemReasoning:
		write(&b, "", collapsed("(thinking) "+text, thoughtLines, 0))
	case session.ItemCommand:
		write(&b, "", "$ "+hanging(title))
		write(&b, "  ", collapsed(text, outputHead, outputTail))
		if it.ExitCode != nil && *it.ExitCode != 0 {
			write(&b, "  ", fmt.Sprintf("(code %d)", *it.ExitCode))
		}
	case session.ItemEdit:
		write(&b, "", "edit "+hanging(title))
		write(&b, "  ", collapsed(text, diffLines, 0))
	case session.ItemTool:
		write(&b, "", "> "+hanging(title))
		write(&b, "  ", collapsed(text, outputHead, outputTail))
	case session.ItemPlan:
		write(&b, "", "plan:")
		write(&b, "  ", text)
	case session.ItemNotice:
		write(&b, "", "· "+hanging(joined(title, text)))
	case session.ItemError:
		write(&b, "", "error: "+hanging(joined(title, text)))
	default: // of a later build
		write(&b, "", joined(title, text))
	}
	switch it.State {
	case session.ItemFailed:
		if it.ExitCode == nil && it.Kind != session.ItemError {
			write(&b, "  ", "(failed)")
		}
	case session.ItemDeclined:
		write(&b, "  ", "(declined)")
	case session.ItemStopped:
		write(&b, "  ", "(stopped)")
	}
	return b.String()
}

// write writes the lines of text, each after indent.
func write(b *strings.Builder, indent, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// collapsed keeps the first and the last lines of a long text and says how many are
// left out between them.
func collapsed(text string, head, foot int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= head+foot+1 {
		return text
	}
	more := fmt.Sprintf("… %d more lines", len(lines)-head-foot)
	return strings.Join(append(append(lines[:head:head], more), lines[len(lines)-foot:]...), "\n")
}

// hanging indents the lines after the first.
func hanging(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func joined(title, text string) string {
	if title != "" && text != "" {
		return title + ": " + text
	}
	return title + text
}

// echoed shortens a very long instruction for the pane.
func echoed(text string) string {
	const most = 8 << 10
	if len(text) > most {
		return fmt.Sprintf("%s…\n(%d KiB in all)", session.Line(text[:most], most), len(text)>>10)
	}
	return text
}

// echo is an instruction as the pane shows it.
func echo(text string, at time.Time) string { return session.Echo(echoed(plain(text)), at.Local()) }
