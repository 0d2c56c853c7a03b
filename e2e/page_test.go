package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// profile is a kind of browser.
type profile struct {
	name          string
	width, height int
	touch         bool
	noScript      bool
	worker        bool   // with the service worker, which the other tests do without
	zone          string // time zone; empty: the test's own
}

var (
	desktop  = profile{name: "desktop", width: 1280, height: 800}
	phone    = profile{name: "phone-390", width: 390, height: 844, touch: true}
	narrow   = profile{name: "phone-320", width: 320, height: 640, touch: true}
	noScript = profile{name: "no-script", width: 390, height: 844, noScript: true}
)

// each runs a test at every one of these profiles.
func each(t *testing.T, profiles []profile, f func(*testing.T, profile)) {
	for _, p := range profiles {
		t.Run(p.name, func(t *testing.T) { f(t, p) })
	}
}

// page is a page of the console in a browser of its own.
type page struct {
	playwright.Page
	t        testing.TB
	c        *console
	context  playwright.BrowserContext
	noScript bool

	mu       sync.Mutex
	dialogs  []string
	problems []string // violations of the content security policy and errors of scripts
	reloads  int
}

// open returns a page of a browser that has no cookie yet. Whatever a test does,
// no dialog may open, no script may fail and nothing may break the policy.
func (c *console) open(t testing.TB, p profile) *page {
	t.Helper()
	options := playwright.BrowserNewContextOptions{
		BaseURL:  playwright.String(c.base()),
		Viewport: &playwright.Size{Width: p.width, Height: p.height},
		HasTouch: &p.touch, IsMobile: &p.touch,
		JavaScriptEnabled: playwright.Bool(!p.noScript),
		ReducedMotion:     playwright.ReducedMotionReduce,
	}
	if p.zone != "" {
		options.TimezoneId = &p.zone
	}
	if !p.worker {
		options.ServiceWorkers = playwright.ServiceWorkerPolicyBlock
	}
	ctx, err := theBrowser(t).NewContext(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx.SetDefaultTimeout(float64(patience.Milliseconds()))
	inner, err := ctx.NewPage()
	if err != nil {
		t.Fatal(err)
	}
	pg := &page{Page: inner, t: t, c: c, context: ctx, noScript: p.noScript}
	inner.OnDialog(func(d playwright.Dialog) {
		pg.note(&pg.dialogs, d.Type()+": "+d.Message())
		go d.Dismiss()
	})
	inner.OnPageError(func(err error) { pg.note(&pg.problems, err.Error()) })
	inner.OnConsole(func(m playwright.ConsoleMessage) {
		if strings.Contains(m.Text(), "Content Security Policy") {
			pg.note(&pg.problems, m.Text())
		}
	})
	inner.OnFrameNavigated(func(f playwright.Frame) {
		if f == inner.MainFrame() {
			pg.mu.Lock()
			pg.reloads++
			pg.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			pg.screenshot()
		}
		// The driver can wait for ever for a context whose page is just going
		// elsewhere; the browser ends it with itself.
		closed := make(chan struct{})
		go func() { ctx.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(closeWait):
			t.Log("the browser's driver did not close the context")
		}
		pg.mu.Lock()
		defer pg.mu.Unlock()
		if len(pg.dialogs) > 0 {
			t.Errorf("dialogs opened: %q", pg.dialogs)
		}
		if len(pg.problems) > 0 {
			t.Errorf("the page's console: %q", pg.problems)
		}
	})
	return pg
}

// login returns a page of the owner's, at path.
func (c *console) login(t testing.TB, p profile, path string) *page {
	t.Helper()
	pg := c.open(t, p)
	pg.visit(c.loginLink())
	pg.visit(path)
	return pg
}

func (p *page) note(to *[]string, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, what)
}

// navigations is how often the page was loaded.
func (p *page) navigations() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reloads
}

// visit goes to a path, or to a whole URL.
func (p *page) visit(path string) playwright.Response {
	p.t.Helper()
	resp, err := p.Goto(path)
	if err != nil {
		p.t.Fatalf("go to %s: %v", path, err)
	}
	return resp
}

// reload loads the page again.
func (p *page) reload() {
	p.t.Helper()
	if _, err := p.Reload(); err != nil {
		p.t.Fatalf("reload: %v", err)
	}
}

// hook finds an element by its data-testid; attributes come in pairs.
func (p *page) hook(id string, attributes ...string) playwright.Locator {
	var b strings.Builder
	fmt.Fprintf(&b, "[data-testid=%q]", id)
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(&b, "[%s=%q]", attributes[i], attributes[i+1])
	}
	return p.Locator(b.String())
}

var expectations = playwright.NewPlaywrightAssertions(float64(patience.Milliseconds()))

// sees waits until a hook with these attributes is visible.
func (p *page) sees(id string, attributes ...string) {
	p.t.Helper()
	if err := expectations.Locator(p.hook(id, attributes...).First()).ToBeVisible(); err != nil {
		p.t.Fatalf("%s %v is not to be seen: %v", id, attributes, p.explain(id, err))
	}
}

// has waits until there is such a hook, shown or folded away.
func (p *page) has(id string, attributes ...string) {
	p.t.Helper()
	if err := expectations.Locator(p.hook(id, attributes...).First()).ToBeAttached(); err != nil {
		p.t.Fatalf("there is no %s %v: %v", id, attributes, p.explain(id, err))
	}
}

// lacks waits until there is no such hook.
func (p *page) lacks(id string, attributes ...string) {
	p.t.Helper()
	if err := expectations.Locator(p.hook(id, attributes...)).ToHaveCount(0); err != nil {
		p.t.Fatalf("%s %v is there: %v", id, attributes, p.explain(id, err))
	}
}

// reads waits until a hook contains this text.
func (p *page) reads(id, text string) {
	p.t.Helper()
	if err := expectations.Locator(p.hook(id).First()).ToContainText(text); err != nil {
		p.t.Fatalf("%s does not say %q: %v", id, text, p.explain(id, err))
	}
}

// says waits until a locator has an attribute of this value.
func (p *page) says(id, attribute, value string) {
	p.t.Helper()
	if err := expectations.Locator(p.hook(id).First()).ToHaveAttribute(attribute, value); err != nil {
		p.t.Fatalf("%s has no %s=%q: %v", id, attribute, value, p.explain(id, err))
	}
}

// live waits until the page is connected.
func (p *page) live() {
	p.t.Helper()
	p.says("connection", "data-state", "live")
}

// explain adds the hooks as they are to an error, which saves a look at the picture.
func (p *page) explain(id string, err error) string {
	found, _ := p.Evaluate(`id => [...document.querySelectorAll('[data-testid="'+id+'"]')].slice(0, 3).map(e => e.outerHTML.slice(0, 400))`, id)
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Sprintf("%s\nat %s: %v", first, p.URL(), found)
}

// click presses a hook.
func (p *page) click(id string, attributes ...string) {
	p.t.Helper()
	if err := p.clickOn(p.hook(id, attributes...).First()); err != nil {
		p.t.Fatalf("click %s: %v", id, p.explain(id, err))
	}
}

// fill types into a field of a form by its name.
func (p *page) fill(name, value string) {
	p.t.Helper()
	if err := p.Locator("[name=" + name + "]").First().Fill(value); err != nil {
		p.t.Fatalf("fill %s: %v", name, err)
	}
}

// choose picks an option of a select by its name.
func (p *page) choose(name, value string) {
	p.t.Helper()
	if _, err := p.Locator("select[name=" + name + "]").First().SelectOption(playwright.SelectOptionValues{Values: &[]string{value}}); err != nil {
		p.t.Fatalf("choose %s: %v", name, err)
	}
}

// value evaluates an expression in the page.
func (p *page) value(expression string, arg ...any) any {
	p.t.Helper()
	v, err := p.Evaluate(expression, arg...)
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// when waits until an expression is true in the page.
func (p *page) when(expression string, arg ...any) {
	p.t.Helper()
	until(p.t, expression, func() bool { return p.value(expression, arg...) == true }) // playwright's own needs eval
}

// fits fails the test if the page scrolls sideways.
func (p *page) fits() {
	p.t.Helper()
	if p.value("() => document.scrollingElement.scrollWidth <= innerWidth") != true {
		wide := p.value(`() => [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 160))`)
		p.t.Errorf("%s scrolls sideways at %v: %v", p.URL(), p.ViewportSize().Width, wide)
	}
}

func (p *page) screenshot() {
	name := strings.NewReplacer("/", "_", " ", "_").Replace(p.t.Name())
	if os.MkdirAll("artifacts", 0o755) != nil {
		return
	}
	path := filepath.Join("artifacts", fmt.Sprintf("%s-%d.png", name, p.number()))
	if _, err := p.Screenshot(playwright.PageScreenshotOptions{Path: &path}); err != nil {
		p.t.Logf("no screenshot: %v", err)
		return
	}
	p.t.Logf("screenshot: e2e/%s", path)
}

var pages struct {
	sync.Mutex
	n int
}

func (p *page) number() int {
	pages.Lock()
	defer pages.Unlock()
	pages.n++
	return pages.n
}

// closeWait bounds how long a test waits for the driver to close its context.
const closeWait = 5 * time.Second
