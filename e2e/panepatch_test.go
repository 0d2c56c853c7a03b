package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// sockets counts what the server sends to a page's sockets.
type sockets struct {
	mu     sync.Mutex
	opened int
	bytes  int
}

func (p *page) countsSockets() *sockets {
	s := &sockets{}
	p.OnWebSocket(func(ws playwright.WebSocket) {
		s.mu.Lock()
		s.opened++
		s.mu.Unlock()
		ws.OnFrameReceived(func(data []byte) {
			s.mu.Lock()
			s.bytes += len(data)
			s.mu.Unlock()
		})
	})
	return s
}

func (s *sockets) so() (opened, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.bytes
}

// A line of a pane of 4 KiB that changes costs the browser's socket under 1 KiB.
func TestAChangedLineCostsLittle(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Long")
	row := func(n int) string {
		return fmt.Sprintf("%2d the engine prints a line of some sixty characters to its pane", n)
	}
	var rows []string
	for n := range 66 {
		rows = append(rows, row(n))
	}
	push := func() {
		api.push(s.ID, oneShot(strings.Join(rows, "\n")+"\n", object{"runState": "thinking"}))
		size := len(strings.Join(rows, "\n"))
		if size < 4<<10 {
			t.Fatalf("a pane of %d bytes", size)
		}
	}
	push()
	pg := c.open(t, desktop)
	counted := pg.countsSockets()
	pg.visit(c.loginLink())
	pg.visit("/sessions/" + s.ID)
	pg.live()
	for _, at := range []int{0, 30, 65} {
		_, before := counted.so()
		rows[at] = fmt.Sprintf("another line of about the same length stands at %d, unseen so far", at)
		push()
		pg.reads("pane", rows[at])
		if _, after := counted.so(); after-before > 1024 || after == before {
			t.Errorf("a change of row %d cost %d bytes", at, after-before)
		} else {
			t.Logf("a change of row %d cost %d bytes", at, after-before)
		}
	}
}

// However panes change, and whatever gets lost on the way, the page shows the newest
// one and never one that was not.
func TestThePaneIsNeverWrong(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	s := api.external("Random")
	pg := c.open(t, desktop)
	// Every pane that the page shows is kept; a message in ten is lost, and sockets end.
	capture := `window.sockets = []; window.lose = 0; window.lost = 0;
		window.WebSocket = class extends WebSocket {
			constructor(...a) { super(...a); sockets.push(this) }
			set onmessage(take) { super.onmessage = take && ((m) => { if (lose && m.data.includes('data-take')) { lose--; lost++; return } take(m) }) }
		}`
	if err := pg.AddInitScript(playwright.Script{Content: &capture}); err != nil {
		t.Fatal(err)
	}
	pg.visit(c.loginLink())
	pg.visit("/sessions/" + s.ID)
	pg.live()
	pg.value(`() => { window.shown = new Set(); const p = document.querySelector('[data-testid=pane]');
		new MutationObserver(() => shown.add(p.textContent)).observe(p, {subtree: true, childList: true, characterData: true}) }`)
	r := rand.New(rand.NewPCG(3, 4))
	pushed := map[string]bool{}
	var rows []string
	for n := range 100 {
		for range 1 + r.IntN(4) {
			at := r.IntN(len(rows) + 1)
			text := [...]string{"", "same", "é <b> & \x1b[31mred\x1b[0m 𝄞", fmt.Sprint("row ", r.IntN(40)), strings.Repeat("─", 40)}[r.IntN(5)]
			switch {
			case r.IntN(3) == 0 && at < len(rows):
				rows = append(rows[:at:at], rows[at+1:]...)
			case r.IntN(2) == 0 && at < len(rows):
				rows[at] = text
			default:
				rows = append(rows[:at:at], append([]string{text}, rows[at:]...)...)
			}
		}
		if r.IntN(8) == 0 && len(rows) > 10 {
			rows = rows[5:]
		}
		pane := strings.Join(append(rows[:len(rows):len(rows)], fmt.Sprint("pane ", n)), "\n") + "\n"
		text := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(pane)
		pushed[text] = true
		switch {
		case n%10 == 5:
			pg.value(`() => { lose = 1 }`)
		case n%25 == 24:
			pg.value(`() => sockets.at(-1).close()`)
		}
		api.push(s.ID, oneShot(pane, object{"format": "ansi"}))
		if n%10 == 5 {
			pg.when(`() => lose === 0 || document.querySelector('[data-testid=pane]').textContent.includes('pane ` + fmt.Sprint(n) + `\n')`)
			continue // the next one finds the page without its base
		}
		pg.when(`want => document.querySelector('[data-testid=pane]').textContent === want`, text)
	}
	if lost := number(pg.value(`() => lost`)); lost == 0 {
		t.Error("no message was lost, so nothing was tried")
	}
	for _, text := range pg.value(`() => [...shown]`).([]any) {
		if !pushed[fmt.Sprint(text)] && fmt.Sprint(text) != "" {
			t.Errorf("the page showed a pane that never was:\n%s", text)
		}
	}
}
