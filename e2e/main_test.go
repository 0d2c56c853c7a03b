package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	"signalbox/e2e/browser"
)

// program is the console under test.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = os.Getenv("CONSOLE_BIN")
	if program == "" {
		program = filepath.Join(dir, "console")
		build := exec.Command("go", "build", "-o", program, "signalbox/cmd/console")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the console: %v\n%s", err, out)
			return 1
		}
	}
	defer closeBrowser()
	return m.Run()
}

// chromium is the one browser of the run; each test has a context of its own.
var chromium struct {
	sync.Once
	pw      *playwright.Playwright
	browser playwright.Browser
	err     error
}

// theBrowser returns the browser, started at the first call.
func theBrowser(t testing.TB) playwright.Browser {
	t.Helper()
	chromium.Do(func() { chromium.pw, chromium.browser, chromium.err = browser.Start("../.cache") })
	switch err := chromium.err; {
	case errors.Is(err, browser.ErrMissing) && os.Getenv("E2E_REQUIRED") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return chromium.browser
}

func closeBrowser() {
	if chromium.browser != nil {
		closed := make(chan struct{})
		go func() { chromium.browser.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(closeWait):
		}
		chromium.pw.Stop()
	}
}

// until returns once cond holds, asking it every few milliseconds, and fails the
// test if it does not within patience. what ends the sentence "waited for …".
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	untilWithin(t, patience, what, cond)
}

// untilWithin is until for what takes longer by the program's own rules.
func untilWithin(t testing.TB, patience time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
