package session

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"nothing to hide: go test ./store -run TestX", ""},
		{"tokens used: · ↓ 3.1k tokens · esc to interrupt", ""},
		{"codex@0.171.0 and @openai/codex", ""},
		{"internal/store/history_test_of_everything.go:120", ""},
		{"TestAVeryLongNameOfATestThatNobodyWouldShorten", ""},
		{"10:42:07 127.0.0.1:7878 0.0.0.0", ""},
		{"Enter your password: ", ""},
		{"key sk-ant-api03-AbCdEf1234567890_-x end", "key xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx end"},
		{"sk-proj-abcdefghijklmnop", "xxxxxxxxxxxxxxxxxxxxxxxx"},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", strings.Repeat("x", 40)},
		{"export AWS_KEY=AKIAIOSFODNN7EXAMPLE", "export AWS_KEY=xxxxxxxxxxxxxxxxxxxx"},
		{"OPENAI_API_KEY=abc", "OPENAI_API_KEY=xxx"},
		{`"apiKey": "hunter2",`, `"apiKey": "xxxxxxx",`},
		{"DB_PASSWORD = 'p@ss w'", "DB_PASSWORD = 'xxxx w'"},
		{"mysql --password=hunter2 --user me", "mysql --password=xxxxxxx --user me"},
		{"curl -u ada:hunter2 --token abc", "curl -u xxxxxxxxxxx --token xxx"},
		{"Authorization: Bearer abc def", "Authorization: xxxxxx xxx xxx"},
		{"bearer abcdefgh.ij", "bearer xxxxxxxxxxx"},
		{"postgres://ada:hunter2@db/x", "postgres://xxxxxxxxxxx@db/x"},
		{"https://x.example/cb?code=4/abc&z=1", "https://x.example/cb?code=xxxxx&z=1"},
		{"eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", strings.Repeat("x", 30)},
		{"ssh-ed25519 AAAAC3NzaC1 ada@laptop", "ssh-ed25519 xxxxxxxxxxx xxxxxxxxxx"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE ab\ncd\n-----END RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nxxxx xx\nxx\n-----END RSA PRIVATE KEY-----"},
		{"sum 9f86d081884c7d659a2feaa0c55ad015", "sum xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"session 0199a3c2-7d1e-7f00-8a1b-0123456789ab", "session xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"q8Zr2LmX9vT4nB7sK1dW6yPc", "xxxxxxxxxxxxxxxxxxxxxxxx"},
		{"cwd: /home/ada/code and /Users/ada", "cwd: /home/xxx/code and /Users/xxx"},
		{`C:\Users\Grace\src`, `C:\Users\xxxxx\src`},
		{"/home/ada is Ada's, not adamant", "/home/xxx is xxx's, not adamant"},
		{"mail ada.l@example.org", "mail xxx.x@xxxxxxx.xxx"},
		{"ada@box:~/src$ ", "xxx@xxx:~/src$ "},
		{"at 192.168.10.7 and build.corp", "at xxx.xxx.xx.x and xxxxx.xxxx"},
		{"on mac-mini: ok, mac-minion", "on xxx-xxxx: ok, mac-minion"},
		{"日本-host /home/日本/x", "xxxx-host /home/xxxx/x"},
		{"\x1b[1mTOKEN=\x1b[32mhun\x1b[0mter2\x1b[m", "\x1b[1mTOKEN=\x1b[32mxxx\x1b[0mxxxx\x1b[m"},
		{"│ password: hunter2 │", "│ password: xxxxxxx │"},
	} {
		want := tt.want
		if want == "" {
			want = tt.text
		}
		names := []string{"mac-mini"}
		if strings.Contains(tt.text, "日本") {
			names = append(names, "日本")
		}
		if got := Mask(tt.text, 0, names...); got != want {
			t.Errorf("Mask(%q)\n   = %q,\nwant %q", tt.text, got, want)
		}
	}
}

// A secret that the screen breaks over two rows is one secret.
func TestMaskOverTheEdgeOfAScreen(t *testing.T) {
	for name, tt := range map[string]struct {
		cols       int
		text, want string
	}{
		"plain":           {20, "the key is sk-ant-a\npi03-AbCdEf12345 ok\nYes", "the key is xxxxxxxx\nxxxxxxxxxxxxxxxx ok\nYes"},
		"in a box":        {20, "│ TOKEN=abcdefghi │\n│ jklm ok          │", "│ TOKEN=xxxxxxxxx │\n│ xxxx ok          │"},
		"not at the edge": {40, "TOKEN=abc\nYes, and go on", "TOKEN=xxx\nYes, and go on"},
		"width unknown":   {0, "TOKEN=abc\nYes", "TOKEN=xxx\nYes"},
	} {
		if got := Mask(tt.text, tt.cols); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("TOKEN=abc /home/ada\n\x1b[1mx", 20)
	f.Add("│ sk-ant-api03-aaaaaaaaaaaaaaaa │\n", 3)
	f.Fuzz(func(t *testing.T, pane string, cols int) {
		got := Mask(pane, cols, "ada")
		if strings.Count(got, "\n") != strings.Count(pane, "\n") {
			t.Errorf("%q has other rows than %q", got, pane)
		}
		if utf8.ValidString(pane) && !utf8.ValidString(got) {
			t.Errorf("%q of %q is no text", got, pane)
		}
		if PlainText(got) != "" && PlainText(pane) == "" {
			t.Errorf("%q of nothing", got)
		}
	})
}
