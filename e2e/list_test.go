package e2e

import (
	"regexp"
	"testing"
)

// What needs the owner stands first, and is counted in the title and on the icon,
// without a reload.
func TestWhatNeedsTheOwnerComesFirst(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	api := c.api()
	works, other := api.external("Compiles"), api.external("Another")
	asks := api.external("Asks")
	api.push(asks.ID, oneShot("it waits\n", nil))
	api.push(works.ID, oneShot("compiling the importer\n", object{"runState": "thinking"}))
	api.push(other.ID, oneShot("all is quiet\n", nil))
	ask := object{"prompt": object{"kind": "approval", "title": "Run make?", "body": "make", "options": []object{{"option": "yes", "label": "Yes", "key": "1"}}}}

	each(t, []profile{desktop, phone, narrow, noScript}, func(t *testing.T, p profile) {
		api.push(asks.ID, oneShot("it waits\n", nil))
		pg := c.login(t, p, "/")
		pg.fits()
		firstIs := func(id string) {
			t.Helper()
			if err := expectations.Locator(pg.hook("session-row").First()).ToHaveAttribute("data-session", id); err != nil {
				t.Fatal(err)
			}
		}
		firstIs(works.ID)
		api.push(asks.ID, oneShot("it waits\n", ask))
		if p.noScript {
			pg.reload()
		}
		firstIs(asks.ID)
		pg.reads("session-row", "Run make?")
		if err := expectations.Page(pg.Page).ToHaveTitle("(1) Signalbox"); err != nil {
			t.Error(err)
		}
		if err := expectations.Locator(pg.Locator("link[rel=icon]")).ToHaveAttribute("href", regexp.MustCompile(`/icon-1\.`)); err != nil {
			t.Error(err)
		}
		if err := expectations.Locator(pg.Locator("h1")).ToHaveText("One session needs you."); err != nil {
			t.Error(err)
		}
		session := c.login(t, p, "/sessions/"+works.ID)
		if err := expectations.Page(session.Page).ToHaveTitle("(1) Compiles · Signalbox"); err != nil {
			t.Error(err)
		}
		api.push(asks.ID, oneShot("it waits\n", nil))
		if p.noScript {
			pg.reload()
			session.reload()
		}
		firstIs(works.ID)
		if err := expectations.Page(pg.Page).ToHaveTitle("Signalbox"); err != nil {
			t.Error(err)
		}
		if err := expectations.Page(session.Page).ToHaveTitle("Compiles · Signalbox"); err != nil {
			t.Error(err)
		}

		if err := pg.Locator("[name=q]").Fill("importer"); err != nil {
			t.Fatal(err)
		}
		if err := pg.clickOn(pg.Locator(".search button")); err != nil {
			t.Fatal(err)
		}
		if err := expectations.Locator(pg.hook("session-row")).ToHaveCount(1); err != nil {
			t.Fatal(err)
		}
		pg.reads("session-row", "compiling the importer")
		pg.fits()
		pg.visit("/")
		if err := pg.clickOn(pg.Locator("[data-session=" + other.ID + "] .row-do button")); err != nil {
			t.Fatal(err)
		}
		pg.lacks("session-row", "data-session", other.ID)
		pg.visit("/?archived=1")
		pg.sees("session-row", "data-session", other.ID)
		if err := pg.clickOn(pg.Locator(".row-do button")); err != nil {
			t.Fatal(err)
		}
		pg.lacks("session-row", "data-session", other.ID)
		pg.visit("/")
		pg.sees("session-row", "data-session", other.ID)
	})
}

// A control that a thumb misses is none.
func TestControlsOfTheListAreLargeEnough(t *testing.T) {
	c := start(t, withFlags("--no-runner"))
	c.api().push(c.api().external("One").ID, oneShot("x\n", nil))
	each(t, []profile{phone, narrow}, func(t *testing.T, p profile) {
		pg := c.login(t, p, "/")
		pg.large()
	})
}
