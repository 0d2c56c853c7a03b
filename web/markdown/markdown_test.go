package markdown

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestHTML(t *testing.T) {
	const leads = ` rel="noopener noreferrer nofollow" target="_blank"`
	for _, c := range []struct{ name, words, want string }{
		{"a paragraph keeps its lines", "one\ntwo", "<p>one<br>two</p>"},
		{"emphasis and code", "*a* **b** `c<d`", "<p><em>a</em> <strong>b</strong> <code>c&lt;d</code></p>"},
		{"headings stay below those of the page", "# A\n#### B", "<h2>A</h2><h3>B</h3>"},
		{"and in their order", "#### A", "<h2>A</h2>"},
		{"lists", "- a\n- b\n\n3. c", `<ul><li>a</li><li>b</li></ul><ol start="3"><li>c</li></ol>`},
		{"tasks", "- [x] a\n- [ ] b", `<ul><li class="task">☑ a</li><li class="task">☐ b</li></ul>`},
		{"a fence, with its language", "```go\nx := \"<\"\n```", `<p class="to">go</p><pre tabindex="0">x := &#34;&lt;&#34;` + "\n</pre>"},
		{"an unfinished fence, as it streams in", "```\nx\n", "<pre tabindex=\"0\">x\n</pre>"},
		{"a table", "|a|b|\n|-|-|\n|1|2|", `<div class="wide" tabindex="0"><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></div>`},
		{"a link says where it leads", "[here](https://evil.example/a?b=1&c=2)", `<p><a href="https://evil.example/a?b=1&amp;c=2"` + leads + `>here</a> <span class="to">evil.example</span></p>`},
		{"a link that says so itself", "https://example.org/x", `<p><a href="https://example.org/x"` + leads + `>https://example.org/x</a></p>`},
		{"a link that names another place", "[https://bank.example](https://evil.example)", `<p><a href="https://evil.example"` + leads + `>https://bank.example</a> <span class="to">evil.example</span></p>`},
		{"a link to a file is none", "[a.go](/src/a.go:12)", `<p>a.go <span class="to">/src/a.go:12</span></p>`},
		{"a script is none", "[a](javascript:alert(1)) [b](data:text/html,x)", `<p>a <span class="to">javascript:alert(1)</span> b <span class="to">data:text/html,x</span></p>`},
		{"neither is one with a name in it", "[a](https://bank.example@evil.example)", `<p>a <span class="to">https://bank.example@evil.example</span></p>`},
		{"an image is not loaded", "![a](https://evil.example/p.png)", `<p><a href="https://evil.example/p.png"` + leads + `>image a</a> <span class="to">evil.example</span></p>`},
		{"a defined link is not taken out", "[a]\n\n[a]: https://x.example \"b\"", `<p><a href="https://x.example"` + leads + `>a</a> <span class="to">x.example “b”</span></p><p class="to">[a]: https://x.example “b”</p>`},
		{"raw HTML is text", "<script>alert(1)</script>", "<pre tabindex=\"0\">&lt;script&gt;alert(1)&lt;/script&gt;</pre>"},
		{"within a line too", "a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>"},
		{"a comment is not hidden", "<!-- a -->", "<pre tabindex=\"0\">&lt;!-- a --&gt;</pre>"},
		{"a turned direction is marked", "a\u202eb", "<p>a⟨U+202E⟩b</p>"},
		{"also as an entity", "a&#x202e;b &lt;i&gt;", "<p>a⟨U+202E⟩b &lt;i&gt;</p>"},
		{"an entity hides nothing before it", "a&#13;b", "<p>a b</p>"},
		{"neither does a carriage return", "a\rb", "<p>a<br>b</p>"},
		{"escape sequences are dropped", "a\x1b]8;;https://evil.example\x07b\x1b]8;;\x07c", "<p>abc</p>"},
	} {
		if got := HTML(c.words); got != c.want {
			t.Errorf("%s: %q\n got %s\nwant %s", c.name, c.words, got, c.want)
		}
	}
}

// What costs time by the square of its length is shown as it is.
func TestHostileTextIsNotParsed(t *testing.T) {
	for _, bit := range []string{">", "> ", "> - ", "1. ", "1) ", "- 1. ", "[a]("} {
		words := strings.Repeat(bit, 32<<10/len(bit)) + "x"
		if got := HTML(words); got != "<pre>"+html.EscapeString(words)+"</pre>" {
			t.Errorf("%q again and again is drawn as %.60s…", bit, got)
		}
	}
	for _, words := range []string{strings.Repeat("- ", 100), strings.Repeat("-", 100), strings.Repeat(".", 100)} {
		if got := HTML(words); strings.HasPrefix(got, "<pre>") {
			t.Errorf("a rule is drawn as %.60s…", got)
		}
	}
}

// The HTML is nested only so deeply.
func TestDepth(t *testing.T) {
	var words strings.Builder
	for n := range 60 {
		words.WriteString(strings.Repeat("  ", n) + "- a\n")
	}
	got := HTML(words.String())
	if n := strings.Count(got, "<ul>"); n > maxDepth || n < maxDepth/4 {
		t.Errorf("%d lists one within another", n)
	}
	if n := strings.Count(got, "a"); n != 60 {
		t.Errorf("%d of 60 entries are to be seen", n)
	}
}

// FuzzHTML: whatever the words, the page gets only tags and attributes of ours,
// and links only to http and https.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		"# a\n\n- b\n\n```c\nd\n```\n", "[a](b \"c\") ![d](e) <f@g.h> https://i.j", "|a|\n|-|\n|<b>|\n", "<a href=x>", "&lt;&#60;&#x3c;&NewLine;\u202e\x1b[31m",
		"[a]: javascript:x\n[a]", "~~a~~ - [x] *b* __c__", "> > - 1. a\n\n***\n    code", "<javascript:alert(1)>", "[a](<b\"onclick=\"c>)",
	} {
		f.Add(seed)
	}
	allowed := map[string][]string{
		"p": {"class"}, "span": {"class"}, "div": {"class", "tabindex"}, "pre": {"tabindex"}, "ol": {"start"}, "a": {"href", "rel", "target"},
		"h2": nil, "h3": nil, "blockquote": nil, "ul": nil, "li": {"class"}, "hr": nil, "table": nil, "tr": nil, "th": nil, "td": nil,
		"code": nil, "em": nil, "strong": nil, "s": nil, "br": nil,
	}
	f.Fuzz(func(t *testing.T, words string) {
		z := html.NewTokenizer(strings.NewReader(HTML(words)))
		for {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%q gives %s", words, z.Raw())
			case html.StartTagToken, html.SelfClosingTagToken:
				tag := z.Token()
				attributes, ok := allowed[tag.Data]
				if !ok {
					t.Fatalf("%q gives <%s>", words, tag.Data)
				}
				for _, a := range tag.Attr {
					if !slices.Contains(attributes, a.Key) {
						t.Fatalf("%q gives %v", words, tag)
					}
					if a.Key == "href" && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://") {
						t.Fatalf("%q leads to %q", words, a.Val)
					}
				}
			case html.TextToken:
				for _, c := range string(z.Text()) {
					if c < ' ' && c != '\n' || c == 0x202e || c == 0x2066 || c == 0x200b || c == 0x7f {
						t.Fatalf("%q shows U+%04X", words, c)
					}
				}
			}
		}
	})
}
