// Package markdown turns an engine's words into HTML that is safe to put in a page.
//
// The parser is goldmark's; the writer is our own, since a page must neither run
// nor load what an engine wrote, nor hide any of it from the owner. Every tag is
// a constant of this package, everything else is escaped text: raw HTML is shown
// as it was written, an image is a link, a link leads to http or https only and
// says where, and invisible characters are shown as package pane shows them.
package markdown

import (
	"bytes"
	"html"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	ghtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"signalbox/web/pane"
)

// maxDepth bounds how deeply the HTML is nested; what is deeper stays as text.
const maxDepth = 24

// A text with more of these than its bound is shown as it is: parsing it takes time
// by the square of their number.
const (
	maxQuotes   = 64   // nested quotes and lists of one line
	maxBrackets = 1000 // opening brackets
)

var reader = goldmark.New(goldmark.WithExtensions(
	extension.Table, extension.Strikethrough, extension.TaskList, extension.Linkify,
)).Parser()

// HTML renders Markdown. It never fails: what is no Markdown is text.
func HTML(words string) string {
	words = strings.ReplaceAll(strings.ReplaceAll(words, "\r\n", "\n"), "\r", "\n")
	words = pane.Text(words, false)
	if strings.Count(words, "[") > maxBrackets || nested(words) {
		return "<pre>" + html.EscapeString(words) + "</pre>"
	}
	w := writer{source: []byte(words)}
	context := parser.NewContext()
	w.blocks(reader.Parse(text.NewReader(w.source), parser.WithContext(context)), 0)
	for _, r := range context.References() { // which the parser takes out of the text
		w.small("p", "["+string(r.Label())+"]: "+string(r.Destination())+titled(string(r.Title())))
	}
	return w.out.String()
}

// nested reports whether a line nests so deeply that parsing it would take long.
func nested(words string) bool {
	for line := range strings.Lines(words) {
		marks := 0
		for _, c := range line {
			if strings.ContainsRune(">*-+.)", c) {
				marks++
			} else if c != ' ' && (c < '0' || c > '9') {
				break
			}
		}
		if marks > maxQuotes {
			return strings.Trim(line, "*-+.) \n") != "" // a long rule is no nesting
		}
	}
	return false
}

type writer struct {
	source []byte
	out    bytes.Buffer
	headed bool // there was a heading
}

// blocks writes the children of n.
func (w *writer) blocks(n ast.Node, depth int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, depth)
	}
}

// in writes the children of n within a tag.
func (w *writer) in(tag string, n ast.Node, depth int) {
	if depth >= maxDepth {
		w.blocks(n, depth)
		return
	}
	w.out.WriteString("<" + tag + ">")
	w.blocks(n, depth+1)
	name, _, _ := strings.Cut(tag, " ")
	w.out.WriteString("</" + name + ">")
}

func (w *writer) node(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.in("p", n, depth)
	case *ast.TextBlock: // of a tight list
		w.blocks(n, depth)
	case *ast.Heading:
		w.in(w.heading(n), n, depth)
	case *ast.Blockquote:
		w.in("blockquote", n, depth)
	case *ast.List:
		w.list(n, depth)
	case *ast.ListItem:
		w.in(itemTag(n), n, depth)
	case *ast.ThematicBreak:
		w.out.WriteString("<hr>")
	case *ast.CodeBlock:
		w.code(n)
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			w.small("p", string(n.Info.Value(w.source)))
		}
		w.code(n)
	case *ast.HTMLBlock:
		w.code(n)
	case *east.Table:
		w.out.WriteString(`<div class="wide" tabindex="0">`)
		w.in("table", n, depth)
		w.out.WriteString("</div>")
	case *east.TableHeader:
		w.cells("th", n, depth)
	case *east.TableRow:
		w.cells("td", n, depth)
	default:
		w.inline(n, depth)
	}
}

// heading keeps the order of ranks: what stands in a page begins at the second.
func (w *writer) heading(n *ast.Heading) string {
	if n.Level > 2 && w.headed {
		return "h3"
	}
	w.headed = true
	return "h2"
}

// itemTag tells the entries of a list of tasks, which have boxes for bullets.
func itemTag(n *ast.ListItem) string {
	if block := n.FirstChild(); block != nil {
		if _, task := block.FirstChild().(*east.TaskCheckBox); task {
			return `li class="task"`
		}
	}
	return "li"
}

func (w *writer) list(n *ast.List, depth int) {
	switch {
	case !n.IsOrdered():
		w.in("ul", n, depth)
	case n.Start == 1:
		w.in("ol", n, depth)
	default:
		w.in(`ol start="`+strconv.Itoa(n.Start)+`"`, n, depth)
	}
}

func (w *writer) cells(tag string, row ast.Node, depth int) {
	w.out.WriteString("<tr>")
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		w.in(tag, c, depth+1)
	}
	w.out.WriteString("</tr>")
}

// code writes the lines of a block as they are.
func (w *writer) code(n ast.Node) {
	w.out.WriteString(`<pre tabindex="0">`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		w.raw(line.Value(w.source))
	}
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		w.raw(h.ClosureLine.Value(w.source))
	}
	w.out.WriteString("</pre>")
}

func (w *writer) inline(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Text:
		w.words(n)
	case *ast.String:
		w.raw(n.Value)
	case *ast.CodeSpan:
		w.in("code", n, depth)
	case *ast.Emphasis:
		w.in([]string{"em", "strong"}[min(n.Level, 2)-1], n, depth)
	case *east.Strikethrough:
		w.in("s", n, depth)
	case *east.TaskCheckBox:
		if n.IsChecked {
			w.out.WriteString("☑ ")
		} else {
			w.out.WriteString("☐ ")
		}
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			part := n.Segments.At(i)
			w.raw(part.Value(w.source))
		}
	case *ast.AutoLink:
		w.link(string(n.URL(w.source)), "", func() { w.raw(n.Label(w.source)) })
	case *ast.Link:
		w.link(string(n.Destination), string(n.Title), func() { w.blocks(n, depth+1) })
	case *ast.Image:
		w.link(string(n.Destination), string(n.Title), func() {
			w.out.WriteString("image ")
			w.blocks(n, depth+1)
		})
	default:
		w.blocks(n, depth)
	}
}

// words writes text, whose entities goldmark leaves to the writer. They may stand
// for characters that pane would have shown as markers.
func (w *writer) words(n *ast.Text) {
	value := n.Value(w.source)
	if n.IsRaw() {
		w.raw(value)
	} else {
		var escaped bytes.Buffer
		b := bufWriter{&escaped}
		ghtml.DefaultWriter.Write(b, value)
		w.out.WriteString(pane.Text(strings.ReplaceAll(escaped.String(), "\r", " "), false))
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		if _, code := n.Parent().(*ast.CodeSpan); code {
			w.out.WriteByte(' ')
		} else {
			w.out.WriteString("<br>")
		}
	}
}

func (w *writer) raw(value []byte) { w.out.WriteString(html.EscapeString(string(value))) }

// small writes what Markdown usually hides.
func (w *writer) small(tag, words string) {
	words = pane.Text(strings.ReplaceAll(html.UnescapeString(words), "\r", " "), false)
	w.out.WriteString("<" + tag + ` class="to">` + html.EscapeString(words) + "</" + tag + ">")
}

func titled(title string) string {
	if title == "" {
		return ""
	}
	return " “" + title + "”"
}

// link writes a link, and where it leads if its words do not say so.
func (w *writer) link(to, title string, words func()) {
	u, ok := pane.WebAddress(html.UnescapeString(to))
	if !ok {
		words()
		w.out.WriteByte(' ')
		w.small("span", to+titled(title))
		return
	}
	w.out.WriteString(`<a href="` + html.EscapeString(u.String()) + `" rel="noopener noreferrer nofollow" target="_blank">`)
	at := w.out.Len()
	words()
	said := html.UnescapeString(w.out.String()[at:])
	w.out.WriteString("</a>")
	if tells := said == u.Host || said == u.String() || strings.HasPrefix(said, u.Scheme+"://"+u.Host+"/"); !tells || title != "" {
		w.out.WriteByte(' ')
		w.small("span", u.Host+titled(title))
	}
}

// bufWriter is the little of a bufio.Writer that goldmark wants.
type bufWriter struct{ *bytes.Buffer }

func (bufWriter) Buffered() int  { return 0 }
func (bufWriter) Available() int { return 1 << 20 }
func (bufWriter) Flush() error   { return nil }
