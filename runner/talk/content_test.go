package talk

import "testing"

func TestContentText(t *testing.T) {
	for raw, want := range map[string]string{
		`"plain"`: "plain", `[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`: "a\nb",
		`[]`: "", `{"text":"no list"}`: "", ``: "", `null`: "",
	} {
		if got := ContentText([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
