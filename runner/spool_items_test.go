package runner

import (
	"fmt"
	"strings"
	"testing"

	"signalbox/session"
)

// itemsOf reads what pushes carry as a console keeps it: the newest of an id.
func itemsOf(pushes []session.Push) string {
	var all []session.Item
	for _, p := range pushes {
		all = mergeItems(all, p.Items)
	}
	var words []string
	for _, it := range all {
		words = append(words, it.ID+"="+it.Text[:min(len(it.Text), 5)])
	}
	return strings.Join(words, " ")
}

func pushItems(pane string, items ...string) session.Push {
	p := push("a", pane)
	for _, it := range items {
		id, text, _ := strings.Cut(it, "=")
		p.Items = append(p.Items, session.Item{ID: id, Kind: session.ItemAnswer, Text: text})
	}
	return p
}

func TestAReplacedPushGivesItsItemsToTheNewer(t *testing.T) {
	d, s, j := openAt(t, t.TempDir())
	s.put(pushItems("one", "1=begun", "2=x"), false)
	s.put(pushItems("two", "3=y", "1=ended"), false)
	s.put(pushItems("three"), false)
	_, s, _ = reopen(t, d, s, j) // on disk too
	sent := sentBy(t, s)
	if got := itemsOf(sent); len(sent) != 1 || got != "1=ended 2=x 3=y" {
		t.Errorf("%d pushes: %s", len(sent), got)
	}
}

func TestItemsThatDoNotFitOnePushStayInTheirOwn(t *testing.T) {
	_, s, _ := openAt(t, t.TempDir())
	long := strings.Repeat("<", session.MaxItem) // six bytes each in JSON
	want := []string{}
	for i := range 40 {
		id := fmt.Sprint(i)
		s.put(pushItems("pane "+id, id+"="+long), false)
		want = append(want, id+"=<<<<<")
	}
	sent := sentBy(t, s)
	if got := itemsOf(sent); got != strings.Join(want, " ") {
		t.Errorf("items: %s", got)
	}
	if len(sent) < 2 || len(sent) > 10 {
		t.Errorf("%d pushes", len(sent))
	}
	for _, e := range s.queue {
		if len(e.bytes) > session.MaxFrame {
			t.Errorf("a frame of %d bytes", len(e.bytes))
		}
	}
	if last := sent[len(sent)-1].Snapshot.Pane; last != "pane 39" {
		t.Errorf("the last pane is %q", last)
	}
}

func TestAFullSpoolKeepsTheNewestItems(t *testing.T) {
	_, s, _ := openAt(t, t.TempDir())
	s.most = 1 << 20
	long := strings.Repeat("x", session.MaxItem)
	for i := range 200 {
		s.put(pushItems("pane", fmt.Sprint(i)+"="+long), false)
		s.next(inFlight) // sent, and not acknowledged
	}
	if s.live > 2*s.most {
		t.Errorf("%d bytes wait", s.live)
	}
	s.begin(0)
	if got := itemsOf(sentBy(t, s)); !strings.HasSuffix(got, "198=xxxxx 199=xxxxx") {
		t.Errorf("items: %s", got)
	}
}

func TestWhatARunBeforeThisOneSaidIsReplaced(t *testing.T) {
	d, s, j := openAt(t, t.TempDir())
	s.put(push("a", "works", "t1"), false)
	s.put(push("b", "other"), false)
	sentBy(t, s) // the console may have it
	d, s, j = reopen(t, d, s, j)
	s.outdate("a")
	s.put(push("a", "idle"), false)
	if got := numbers(sentBy(t, s)); got != "2:other 3:idle+t1" {
		t.Errorf("sent %s", got)
	}
	s.put(push("a", "works again"), false)
	s.put(push("a", "idle again"), false)
	_, s, _ = reopen(t, d, s, j)
	if got := numbers(sentBy(t, s)); got != "2:other 3:idle+t1 5:idle again" {
		t.Errorf("only the next one replaces: %s", got)
	}
}
