// Package browser starts the Chromium that e2e/browser.sh has installed.
package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/playwright-community/playwright-go"
)

// ErrMissing says that "make browser" has not been run here.
var ErrMissing = errors.New("no browser: run make browser")

// Start starts the browser and its driver. cache is the folder that browser.sh
// filled. It returns an error wrapping ErrMissing if something is not installed.
func Start(cache string) (*playwright.Playwright, playwright.Browser, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, nil, fmt.Errorf("find the browser's folder: %w", err)
	}
	driver := filepath.Join(cache, "playwright-driver")
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: no node", ErrMissing)
	}
	if _, err := os.Stat(filepath.Join(driver, "package", "cli.js")); err != nil {
		return nil, nil, fmt.Errorf("%w: no playwright driver", ErrMissing)
	}
	executable := find(cache)
	if executable == "" {
		return nil, nil, fmt.Errorf("%w: no Chromium", ErrMissing)
	}
	os.Setenv("PLAYWRIGHT_NODEJS_PATH", node)
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: driver, SkipInstallBrowsers: true, Stderr: os.Stderr})
	if err != nil {
		return nil, nil, fmt.Errorf("start the playwright driver: %w", err)
	}
	chromium, err := pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &executable,
		Args: []string{
			"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync",
		},
	})
	if err != nil {
		pw.Stop()
		return nil, nil, fmt.Errorf("start %s: %w", executable, err)
	}
	return pw, chromium, nil
}

// find looks where browser.sh looks.
func find(cache string) string {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	found, _ := filepath.Glob(filepath.Join(cache, "browsers", "chromium-*", "chrome-*", "chrome"))
	if len(found) > 0 {
		return found[0]
	}
	return ""
}
