package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/gorilla/websocket"

	"signalbox/session"
)

// turn pushes a turn with an answer, begun by a message that the owner sends.
func (r *fakeRunner) turn(b *box, id, words string) {
	r.t.Helper()
	mid := b.say(id, words)
	b.message(id, mid, session.Pending)
	turn := "turn-of-" + mid
	last := &session.LastTurn{Verdict: session.VerdictOK, TurnID: turn, At: b.now()}
	snap := free
	snap.LastTurn = last
	r.told(id, snap, []session.Item{
		{ID: "message." + mid, Turn: turn, Kind: session.ItemOwner, Text: words, Message: mid},
		{ID: "answer-" + mid, Turn: turn, Kind: session.ItemAnswer, Text: "an answer to " + words, State: session.ItemDone},
	}, session.TurnReport{Turn: turn, Message: mid, Began: true, Outcome: last})
}

// entryPatch reads patches up to one that holds an entry.
func entryPatch(t *testing.T, ws *websocket.Conn) *goquery.Document {
	t.Helper()
	for {
		if doc := patch(t, ws); doc.Find("li[data-talk]").Length() > 0 {
			return doc
		}
	}
}

func ids(doc *goquery.Document, selector string) string {
	var all []string
	doc.Find(selector).Each(func(_ int, e *goquery.Selection) { all = append(all, e.AttrOr("id", "?")) })
	return strings.Join(all, " ")
}

// A change of a conversation sends the entry that changed, and nothing else of it.
func TestAConversationIsPatchedByEntries(t *testing.T) {
	b := start(t)
	p := b.signIn()
	r, id := b.speaking(obliging)
	r.turn(b, id, "first")
	doc := p.get("/sessions/" + id).want(http.StatusOK).page()
	if n := doc.Find("[data-talk] > li").Length(); n != 3 {
		t.Fatalf("%d entries on the page, want 3", n)
	}
	attr(t, find(t, doc, "pane"), "inert", "")

	path := doc.Find("main").AttrOr("data-live", "")
	same := p.live(path)
	if got := patch(t, same); got.Find("[data-talk]").Length() != 0 {
		t.Error("a page that holds the conversation is sent it again")
	}
	other := p.live("/sessions/" + id + "/live?have=another")
	whole := patch(t, other)
	if got := whole.Find("ol[data-only]").AttrOr("data-only", ""); len(strings.Fields(got)) != 3 || whole.Find("li[data-talk]").Length() != 3 {
		t.Errorf("a page that holds another conversation is sent %d entries, and told of %q", whole.Find("li[data-talk]").Length(), got)
	}

	late := elementID("i", "j-a", "late")
	item := session.Item{ID: "late", Turn: "", Kind: session.ItemNotice, Text: "resumed"}
	r.told(id, free, []session.Item{item})
	got := entryPatch(t, same)
	if all := ids(got, "li[data-talk]"); all != late {
		t.Errorf("one new entry sends %q", all)
	}
	if after := got.Find("#"+late).AttrOr("data-after", ""); !strings.HasPrefix(after, "end-") {
		t.Errorf("it stands behind %q", after)
	}
	item.Text = "resumed, and more"
	r.told(id, free, []session.Item{item})
	if all := ids(entryPatch(t, same), "li[data-talk]"); all != late {
		t.Errorf("a changed entry sends %q", all)
	}

	mid := b.say(id, "second")
	b.message(id, mid, session.Pending)
	var seen *goquery.Document
	for seen = patch(t, same); seen.Find("#m-"+mid).AttrOr("data-state", "") != "pending"; seen = patch(t, same) {
	}
	if seen.Find("#m-"+mid).AttrOr("data-after", "") != late {
		t.Error("a message on its way does not stand behind all")
	}
}

// An entry that is there no more is taken away.
func TestAnEntryThatIsGone(t *testing.T) {
	var sent sentFragments
	fragments := []listed{{"s", "a", "<li id=a></li>"}, {"s", "b", "<li id=b></li>"}}
	var out bytes.Buffer
	if err := changedEntries(bg, fragments, &sent, &out); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := changedEntries(bg, fragments[:1], &sent, &out); err != nil || out.String() != `<li id="b" data-gone></li>` {
		t.Errorf("it is told of as %s (%v)", out.String(), err)
	}
	out.Reset()
	if err := changedEntries(bg, nil, &sent, &out); err != nil || out.String() != `<li id="a" data-gone></li>` {
		t.Errorf("the last one is told of as %s (%v)", out.String(), err)
	}
}

// Older turns are read in pages, with the messages of those turns as they are.
func TestOlderTurns(t *testing.T) {
	b := start(t)
	p := b.signIn()
	r, id := b.speaking(obliging)
	const last = 15 // turns of the oldest page, of which the first are older than what a view holds
	for n := range 2*turnsShown + last {
		r.turn(b, id, fmt.Sprint("turn ", n))
	}
	doc := p.get("/sessions/" + id).want(http.StatusOK).page()
	for _, want := range []int{turnsShown, turnsShown, last} {
		if n := doc.Find("[data-testid=turn-end]").Length(); n != want {
			t.Errorf("%d turns on a page, want %d", n, want)
		}
		if n := doc.Find("[data-testid=message][data-state=answered]").Length(); n != want {
			t.Errorf("%d messages on a page, want %d", n, want)
		}
		if earlier := doc.Find(".turnings a").First().AttrOr("href", ""); strings.Contains(earlier, "before=") {
			doc = p.get(earlier).want(http.StatusOK).page()
		}
	}
	if got := doc.Find(".turnings a").Text(); got != "Newest turns" {
		t.Errorf("from the oldest page one can go to %q", got)
	}
	if live := doc.Find("main").AttrOr("data-live", ""); !strings.Contains(live, "before=") || strings.Contains(live, "have=") {
		t.Errorf("the older page follows %s", live)
	}
	ws := p.live(doc.Find("main").AttrOr("data-live", ""))
	if got := patch(t, ws); got.Find("li[data-talk]").Length() != 0 {
		t.Error("an older page is patched with newer entries")
	}
	p.get("/sessions/" + id + "?before=nonsense").want(http.StatusBadRequest)
}

// A page that stays open keeps the turn that it began with.
func TestAnOpenPageKeepsItsTurns(t *testing.T) {
	b := start(t)
	r, id := b.speaking(obliging)
	for n := range turnsShown {
		r.turn(b, id, fmt.Sprint("turn ", n))
	}
	open := &look{}
	if turns, _, _, err := b.turnsOf(bg, session.ID(id), open); err != nil || len(turns) != turnsShown {
		t.Fatalf("%d turns (%v)", len(turns), err)
	}
	r.turn(b, id, "one more")
	turns, _, next, err := b.turnsOf(bg, session.ID(id), open)
	if err != nil || len(turns) != turnsShown+1 || next != "" {
		t.Errorf("after one more turn the page holds %d, and %q before them (%v)", len(turns), next, err)
	}
}

// A page holds as many turns as fit, and of a turn that is too long by itself its
// beginning and its newest entries.
func TestWhatFits(t *testing.T) {
	var turns []session.Turn
	var items []session.Item
	for n := range 4 {
		id := fmt.Sprint("t", n)
		turns = append(turns, turnOf(id, n, n, session.VerdictOK))
		items = append(items, session.Item{ID: "i" + id, Turn: id, Kind: session.ItemAnswer, Text: strings.Repeat("x", bytesShown/2)})
	}
	if got := fitting(turns, items); got != 2 {
		t.Errorf("%d turns fit, want 2", got)
	}
	if got := fitting(turns[:1], append(items[:1:1], session.Item{Turn: "t0", Text: strings.Repeat("x", 4*bytesShown)})); got != 1 {
		t.Errorf("%d turns fit, want the one that is too long", got)
	}
	if kept, left := newestItems(items); len(kept) != 4 || left != 0 {
		t.Errorf("%d items and %d left out", len(kept), left)
	}
	long := []session.Item{ownerOf("m1", "t0")}
	for n := range itemsShown + 10 {
		long = append(long, itemOf(fmt.Sprint("i", n), "t0", session.ItemAnswer, "words"))
	}
	kept, left := newestItems(long)
	if len(kept) != itemsShown+1 || left != 10 || kept[0].ID != "of-m1" || kept[1].ID != "i10" {
		t.Errorf("%d items are kept and %d left out, behind %s comes %s", len(kept), left, kept[0].ID, kept[1].ID)
	}
	entries := talkEntries(talk{newest: true, turns: turns[:1], items: kept, left: left, rest: "?all=1"}, session.Facts{}, at(9))
	if e := entries[1]; e.Title != "10 entries are left out here." || e.More != "?all=1" {
		t.Errorf("what is left out is told as %+v", e)
	}
}

func TestMemo(t *testing.T) {
	long, calls := strings.Repeat("a", memoLeast), 0
	draw := func(s string) string { calls++; return "<" + s + ">" }
	for range 3 {
		if got := memo("test", long, draw); got != "<"+long+">" {
			t.Errorf("drawn as %.20s", got)
		}
	}
	memo("another", long, draw)
	memo("test", "short", draw)
	memo("test", "short", draw)
	if calls != 4 {
		t.Errorf("drawn %d times, want 4", calls)
	}
	for n := range 40 {
		memo("test", fmt.Sprint(n)+strings.Repeat("b", 1<<19), draw)
	}
	if drawn.bytes > memoMost || drawn.order.Len() != len(drawn.at) {
		t.Errorf("%d bytes are kept, in %d and %d places", drawn.bytes, drawn.order.Len(), len(drawn.at))
	}
}
