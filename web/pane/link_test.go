package pane

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

func TestAddressesAreLinks(t *testing.T) {
	link := func(to string) string {
		return `<a href="` + to + `" target="_blank" rel="noopener noreferrer">` + to + `</a>`
	}
	tests := []struct{ name, in, want string }{
		{"alone", "https://example.com/a?b=c#d", link("https://example.com/a?b=c#d")},
		{"in a sentence", "See http://localhost:8080/x. Then", "See " + link("http://localhost:8080/x") + ". Then"},
		{"an ampersand", "https://e.com/?a=1&b=2 x", link("https://e.com/?a=1&amp;b=2") + " x"},
		{"in quotes and angles", `"https://e.com/" <https://e.com/>`, "&#34;" + link("https://e.com/") + "&#34; &lt;" + link("https://e.com/") + "&gt;"},
		{"in brackets", "(https://e.com/a_(b)) [https://e.com]", "(" + link("https://e.com/a_(b)") + ") [" + link("https://e.com") + "]"},
		{"in a box", "│https://e.com/a│", "│" + link("https://e.com/a") + "│"},
		{"in a colour", "\x1b[34mhttps://e.com/a\x1b[0m b", `<span class="f4">` + link("https://e.com/a") + `</span> b`},
		{"two", "https://a.com https://b.com", link("https://a.com") + " " + link("https://b.com")},
		{"punycode is shown as it is", "https://xn--80ak6aa92e.com/", link("https://xn--80ak6aa92e.com/")},
		{"IPv6", "http://[::1]:8080/", link("http://[::1]:8080/")},

		{"a Cyrillic а", "https://аpple.com/", "https://аpple.com/"},
		{"a letter of another script behind it", "https://e.com/а", "https://e.com/а"},
		{"cut with an ellipsis", "https://e.com/long… https://e.com/long...", "https://e.com/long… https://e.com/long..."},
		{"a turned direction", "https://e.com/\u202efdp", `https://e.com/<span class="hid" title="U+202E">⟨U+202E⟩</span>fdp`},
		{"goes on in another colour", "https://e.com\x1b[31m.evil.example/", `https://e.com<span class="f1">.evil.example/</span>`},
		{"begins in another colour", "\x1b[31mhttps\x1b[0m://e.com", `<span class="f1">https</span>://e.com`},
		{"a name before the host", "https://bank.com@evil.example/", "https://bank.com@evil.example/"},
		{"a backslash", `https://bank.com\@evil.example/`, `https://bank.com\@evil.example/`},
		{"no host", "https:///x http://?a", "https:///x http://?a"},
		{"another scheme", "javascript://e.com/%0aalert(1) file:///etc/passwd ftp://e.com", "javascript://e.com/%0aalert(1) file:///etc/passwd ftp://e.com"},
		{"part of a word", "xhttps://e.com x+http://e.com", "xhttps://e.com x+http://e.com"},
		{"a very long one", "https://e.com/" + strings.Repeat("a", longestAddress), "https://e.com/" + strings.Repeat("a", longestAddress)},
		{"a broken escape", "https://e.com/%zz", "https://e.com/%zz"},
	}
	for _, test := range tests {
		if got, want := HTML(test.in, true), `<span class="ln">`+test.want+`</span>`; got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, want)
		}
	}
}

// Links change neither a pane's text nor its lines, and stand in no other tag.
func TestLinksLeaveTheTextAlone(t *testing.T) {
	tag := regexp.MustCompile(`<[^>]*>`)
	for _, in := range []string{
		"\x1b[31mhttps://e.com/a?b&c\x1b[0m\nhttp://e.com", "https://e.com/\x1b[1m x https://e.com/\r\n", "http://http://e.com/ https:// http",
		strings.Repeat("https://e.com/a ", 5_000), "https://e.com\"onclick=\"alert(1)", "https://e.com/'><script>", "https://e.com/\x00a https://e.com/\tb",
	} {
		got := Screen(in, true, len(in)/2)
		if text := html.UnescapeString(tag.ReplaceAllString(got, "")); text != Text(in, true) {
			t.Errorf("%.60q becomes the text %.60q, want %.60q", in, text, Text(in, true))
		}
		for _, m := range regexp.MustCompile(`<a [^>]*>`).FindAllString(got, -1) {
			if !regexp.MustCompile(`^<a href="https?://[^"<>]*" target="_blank" rel="noopener noreferrer">$`).MatchString(m) {
				t.Errorf("%.60q has the tag %s", in, m)
			}
		}
	}
}

// An address that the terminal broke at its last column is whole on each row, where
// that is sure; where it is not, half of it is no link.
func TestBrokenAddresses(t *testing.T) {
	link := func(words, to string) string {
		return `<a href="` + html.EscapeString(to) + `" target="_blank" rel="noopener noreferrer">` + html.EscapeString(words) + `</a>`
	}
	const cols = 24
	const three = "https://example.com/longand/a/great/deal/longer/than-this/row"
	for name, c := range map[string]struct {
		rows []string
		want []string
	}{
		"into two": {
			[]string{"Open https://e.com/login", "?code=1234&state=ab then"},
			[]string{"Open " + link("https://e.com/login", "https://e.com/login?code=1234&state=ab"), link("?code=1234&state=ab", "https://e.com/login?code=1234&state=ab") + " then"},
		},
		"into three, with a full stop behind": {
			[]string{"https://example.com/long", "and/a/great/deal/longer/", "than-this/row."},
			[]string{link("https://example.com/long", three), link("and/a/great/deal/longer/", three), link("than-this/row", three) + "."},
		},
		"in a colour": {
			[]string{"\x1b[34mOpen https://e.com/login", "?code=12\x1b[0m x"},
			[]string{`<span class="f4">Open ` + link("https://e.com/login", "https://e.com/login?code=12") + `</span>`, `<span class="f4">` + link("?code=12", "https://e.com/login?code=12") + `</span> x`},
		},
		"ends with its row, and nothing follows": {
			[]string{"Open https://e.com/login", ""}, []string{"Open " + link("https://e.com/login", "https://e.com/login"), ""},
		},
		"ends with its row, and a box does": {
			[]string{"Open https://e.com/login", "└──"}, []string{"Open " + link("https://e.com/login", "https://e.com/login"), "└──"},
		},
		"a word follows, which may be its end": {
			[]string{"Open https://e.com/login", "form to go on"}, []string{"Open https://e.com/login", "form to go on"},
		},
		"the rest is indented": {
			[]string{"Open https://e.com/login", "  ?code=12"}, []string{"Open https://e.com/login", "  ?code=12"},
		},
		"a path follows": {
			[]string{"Open https://e.com/login", "/usr/local/bin is full"}, []string{"Open https://e.com/login", "/usr/local/bin is full"},
		},
		"another address follows": {
			[]string{"Open https://e.com/login", "https://e.com/b"}, []string{"Open https://e.com/login", link("https://e.com/b", "https://e.com/b")},
		},
		"the row is not full": {
			[]string{"See https://e.com/login", "?code=12"}, []string{"See " + link("https://e.com/login", "https://e.com/login"), "?code=12"},
		},
		"goes on in another colour": {
			[]string{"Open https://e.com/login", "?code=\x1b[31m12\x1b[0m"}, []string{"Open " + link("https://e.com/login", "https://e.com/login?code=12"), `?code=<span class="f1">12</span>`},
		},
	} {
		text := strings.Join(c.rows, "\n")
		want := `<span class="ln">` + strings.Join(c.want, "\n"+`</span><span class="ln">`) + `</span>`
		if strings.HasSuffix(text, "\n") {
			want = strings.TrimSuffix(want, `<span class="ln"></span>`)
		}
		if got := Screen(text, true, cols); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}
