package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/playwright-community/playwright-go"

	"signalbox/e2e/browser"
)

// shot is a picture of a page.
type shot struct {
	name          string
	title         string // of the session; empty: the list
	path          string // after the session's, or instead of it
	width, height int
	scheme        *playwright.ColorScheme
}

// shots are the README's pictures, and one of each state for whoever looks at the pages.
var shots = []shot{
	{"list-phone", "", "/", 390, 844, playwright.ColorSchemeLight},
	{"list-desk", "", "/", 1280, 800, playwright.ColorSchemeDark},
	{"failed-phone", "Nightly report", "", 390, 844, playwright.ColorSchemeLight},
	{"prompt-phone", "Make a haiku about tmux outlive a reboot", "", 390, 844, playwright.ColorSchemeLight},
	{"conversation-phone", "Deflake the retry tests", "", 390, 844, playwright.ColorSchemeDark},
	{"conversation-desk", "Deflake the retry tests", "", 1280, 800, playwright.ColorSchemeLight},
	{"run-phone", "Rounding in the invoices", "#run", 390, 844, playwright.ColorSchemeLight},
	{"history-desk", "Nightly report", "/history", 1280, 800, playwright.ColorSchemeLight},
}

// takeShots signs a browser in and takes the pictures.
func takeShots(ctx context.Context, s *server, link, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder for the pictures: %w", err)
	}
	var all struct {
		Items []struct{ ID, Title string }
	}
	if err := s.get(ctx, "/sessions?limit=100", &all); err != nil {
		return err
	}
	ids := map[string]string{}
	for _, one := range all.Items {
		ids[one.Title] = one.ID
	}
	pw, chromium, err := browser.Start(".cache")
	if err != nil {
		return err
	}
	defer pw.Stop()
	defer chromium.Close()
	browserContext, err := chromium.NewContext()
	if err != nil {
		return fmt.Errorf("open a browser's context: %w", err)
	}
	page, err := browserContext.NewPage()
	if err != nil {
		return fmt.Errorf("open a page: %w", err)
	}
	if _, err := page.Goto(link); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	for _, sh := range shots {
		path := sh.path
		if sh.title != "" {
			path = "/sessions/" + ids[sh.title] + sh.path
		}
		if err := sh.take(page, s.url+path, filepath.Join(dir, sh.name+".png")); err != nil {
			return fmt.Errorf("picture %s: %w", sh.name, err)
		}
	}
	return nil
}

func (sh shot) take(page playwright.Page, url, file string) error {
	if err := page.SetViewportSize(sh.width, sh.height); err != nil {
		return err
	}
	if err := page.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: sh.scheme, ReducedMotion: playwright.ReducedMotionReduce}); err != nil {
		return err
	}
	if _, err := page.Goto(url); err != nil {
		return err
	}
	live := page.Locator("[data-testid=connection][data-state=live]")
	if err := live.WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached, Timeout: playwright.Float(5000)}); err != nil {
		if n, _ := page.Locator("[data-live]").Count(); n > 0 {
			return err
		}
	}
	_, err := page.Screenshot(playwright.PageScreenshotOptions{Path: &file, Animations: playwright.ScreenshotAnimationsDisabled})
	return err
}
