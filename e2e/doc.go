// Package e2e tests the real program: it starts console on port 0 with a home of
// its own and drives its pages in Chromium, its API over HTTP and its runner
// socket over a websocket. It knows the program only by its contract, the pages
// only by their data-testid hooks.
//
// "make test-pages" installs what is needed and runs it. Without that, a plain
// go test skips what needs a browser; E2E_REQUIRED makes the lack a failure.
// CONSOLE_BIN names a program that is built already, CHROMIUM a browser.
// A failed test leaves a screenshot of each of its pages in artifacts/.
package e2e
