package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// through is an address of the console's as it is reached over w.
func (c *console) through(w *wire, url string) string {
	return strings.Replace(url, c.addr, w.listener.Addr().String(), 1)
}

// On a slow connection that breaks again and again, the page comes back by itself
// with what is true then, and a message whose answer was lost is sent once.
func TestABadConnection(t *testing.T) {
	c := start(t)
	api := c.api()
	w := newWire(t, func() string { return c.addr })
	w.lag.Store(int64(120 * time.Millisecond))
	watched := api.external("Watched")
	api.push(watched.ID, oneShot("first look", nil))
	own := api.shell(c.repository("project"), nil)

	pg := c.open(t, phone)
	pg.visit(c.through(w, c.loginLink()))
	pg.visit(c.through(w, c.base()+"/sessions/"+watched.ID))
	pg.live()
	loads := pg.navigations()
	for i := range 4 {
		w.cut()
		api.push(watched.ID, oneShot(fmt.Sprintf("look %d while nobody was connected", i), nil))
		pg.reads("pane", fmt.Sprintf("look %d while", i))
		pg.live()
		api.push(watched.ID, oneShot(fmt.Sprintf("look %d live", i), nil))
		pg.reads("pane", fmt.Sprintf("look %d live", i))
	}
	if n := pg.navigations(); n != loads {
		t.Errorf("the page was loaded %d times more", n-loads)
	}

	pg.visit(c.through(w, c.base()+"/sessions/"+own.ID))
	pg.live()
	pg.click("composer-input")
	pg.typeText("echo sent over a bad connection")
	answered := make(chan error, 1)
	go func() { // the answer does not come, so neither does the click's end
		answered <- pg.hook("composer-send").First().Click()
	}()
	until(t, "the message to come", func() bool { return len(api.messages(own.ID)) == 1 })
	w.cut()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	w.lag.Store(0)
	until(t, "the page that says so", func() bool {
		v, err := pg.Evaluate(`() => document.readyState === 'complete'`)
		return err == nil && v == true
	})
	for range 2 { // what a browser offers then: the same form once more
		pg.Reload()
	}
	pg.visit(c.through(w, c.base()+"/sessions/"+own.ID))
	pg.sees("message", "data-state", "answered")
	pg.reads("pane", "\nsent over a bad connection")
	if all := api.messages(own.ID); len(all) != 1 {
		t.Errorf("%d messages: %+v", len(all), all)
	}
	if n := strings.Count(api.capture(own.ID).Pane, "\nsent over a bad connection\n"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if v := pg.value(`() => document.querySelector('[data-testid=composer-input]').value`); v != "" {
		t.Errorf("the composer holds %q, which was sent", v)
	}
}
