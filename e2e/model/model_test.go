package model

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

const tools = `,"tools":[{"function":{"name":"bash","parameters":{"properties":{"command":{}}}}}]`

func ask(t *testing.T, m *Model, path, body string) (int, string) {
	t.Helper()
	res, err := http.Post(m.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body) // an end that is cut is told by what came
	return res.StatusCode, string(b)
}

var paths = []string{"/v1/responses", "/v1/messages", "/v1beta/models/m:streamGenerateContent", "/v1/chat/completions"}

func request(words string) string {
	return `{"stream":true,"input":"` + words + `"` + tools + `}`
}

func TestWordsChooseTheReply(t *testing.T) {
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			m := New()
			t.Cleanup(m.Close)
			for _, c := range []struct {
				words, want, not string
				code             int
			}{
				{"hello", Answer, "touch", 200},
				{"RUN=one", "touch one", Answer, 200},
				{"RUN=one", Answer, "touch", 200},
				{"TWICE=two", "touch two", Answer, 200},
				{"TWICE=two", "touch two", Answer, 200},
				{"TWICE=two", Answer, "touch", 200},
				{"TALL=three", "step 60", Answer, 200},
				{"WORK=/f first", "w.txt", Answer, 200},
				{"WORK=/f resumed", "w.txt", Answer, 200},
				{"WORK=/f resumed", Answer, "w.txt", 200},
				{"RUN=four then SAY=five", Answer, "touch", 200},
				{`What an engine says first.\n\nRUN=seven`, "touch seven", Answer, 200},
				{"FAIL=401", "The mock says 401.", Answer, 401},
				{"FAIL=limit", "resets_in_seconds", Answer, 429},
				{"CUT=six", Answer[:5], Answer[10:], 200},
			} {
				code, got := ask(t, m, path, request(c.words))
				if code != c.code || !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
					t.Errorf("%s: %d %q; want %d %q without %q", c.words, code, got, c.code, c.want, c.not)
				}
			}
			if !m.Heard("FAIL=401") || m.Heard("FAIL=402") {
				t.Error("heard something else")
			}
		})
	}
}

// A request beside the conversation, which offers no tools, gets a plain answer.
func TestSideRequestsAreAnsweredAtOnce(t *testing.T) {
	m := New()
	t.Cleanup(m.Close)
	for _, words := range []string{"RUN=a", "SLEEP=a", "FAIL=500"} {
		if code, got := ask(t, m, "/v1/messages", `{"input":"`+words+`"}`); code != 200 || !strings.Contains(got, Answer) {
			t.Errorf("%s: %d %q", words, code, got)
		}
	}
}

func TestAReplyWaitsInTheMiddle(t *testing.T) {
	for _, path := range paths {
		m := New()
		res, err := http.Post(m.URL+path, "", strings.NewReader(request("STREAM=x")))
		if err != nil {
			t.Fatal(err)
		}
		r, half := bufio.NewReader(res.Body), ""
		for !strings.Contains(half, Answer[:8]) {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %q", path, err, half)
			}
			half += line
		}
		if strings.Contains(half, "42") {
			t.Errorf("%s says it all: %q", path, half)
		}
		m.Wake()
		if rest, err := io.ReadAll(r); err != nil || !strings.Contains(string(rest), "42") {
			t.Errorf("%s: %v, %q", path, err, rest)
		}
		res.Body.Close()
		m.Close()
	}
}
