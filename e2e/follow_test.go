package e2e

import "github.com/playwright-community/playwright-go"

// clickOn clicks. Without scripts a link or a form's button leads to another page,
// which is waited for: to load this one again meanwhile would call off what was
// asked for, and a page that has come by half lacks what it will show.
func (p *page) clickOn(l playwright.Locator) error {
	if p.noScript {
		leads, err := l.Evaluate(`e => {
			const pressed = e.closest('a[href], button, summary')
			return !!pressed && (pressed.matches('a') || !!pressed.form && pressed.type === 'submit')
		}`, nil)
		if err != nil {
			return err
		}
		if leads == true {
			_, err := p.ExpectEvent("load", func() error { return l.Click() })
			return err
		}
	}
	return l.Click()
}
