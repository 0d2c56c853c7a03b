package appserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestThreads(t *testing.T) {
	if got := string(ListThreads(7, "/srv/demo", "next", 2)); !sameJSON(got, `{"id":7,"method":"thread/list","params":{"cwd":"/srv/demo","cursor":"next","limit":2,"sortKey":"updated_at"}}`) {
		t.Errorf("wrote %s", got)
	}
	if got := string(ListThreads(8, "", "", 50)); !sameJSON(got, `{"id":8,"method":"thread/list","params":{"limit":50,"sortKey":"updated_at"}}`) {
		t.Errorf("wrote %s", got)
	}

	var line []byte
	for _, l := range load(t, "resume_2") {
		if l.dir == '<' && strings.Contains(string(l.frame), `"id": 4`) {
			line = l.frame
		}
	}
	list, _, err := Threads(line)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := list[0]; got.ID != "01a22ba2-f2b4-7c90-ac3b-6584a44b8ab0" || got.Dir != "/home/dev/demo-repo" || got.Title != "hello" || !got.Updated.Equal(time.Unix(1796028430, 0)) {
		t.Errorf("%+v", got)
	}

	list, next, err := Threads([]byte(`{"id":1,"result":{"data":[{"id":"a","name":"A\nname","preview":"x","gitInfo":{"branch":"main"}},{"cwd":"/no/id"}],"nextCursor":"c"}}`))
	if err != nil || next != "c" || fmt.Sprint(list) != fmt.Sprint([]Thread{{ID: "a", Title: "A name", Branch: "main"}}) {
		t.Errorf("%+v %q %v", list, next, err)
	}
	for _, bad := range []string{`half a li`, `{"id":1,"error":{"code":-1,"message":"no\nstate"}}`, `{"method":"x"}`} {
		if _, _, err := Threads([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "list threads: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
