// Package views holds the pages as templ components. Each takes a struct whose
// words and booleans are final: nothing here decides or formats. Every component
// that stands in a page with an id of its own is also a live patch, drawn alone
// and morphed into the page by static/live.js (see Fragments).
package views

import (
	"fmt"
	"strings"
	"time"
)

// Fragments names the components that may be sent alone over a page's socket,
// by the id that the browser finds them by. ID is the session's.
//
//	sessions          SessionRows(List)           "/", and the list beside a session
//	listhead          ListHead(SessionList)       "/": the state of everything in a sentence
//	listfilters       ListFilters(SessionList)    "/": the filters with their counts
//	needs             Needs(int)                  how many sessions need the owner: the document's title and icon
//	state-ID          SessionState(Coding)        title, state in words, controls; sets document.title
//	alert-ID          SessionAlert(Coding)        notice, banner, prompt card
//	placeholder-ID    PanePlaceholder(Coding)     why the pane is empty; empty itself if it is not
//	pane-ID           PaneText(Coding)            the pane; must be first in its message, or alone
//	messages-ID       Messages(Coding)            what was said, and what waits
//	sends-ID          ComposerSends(Coding)       the buttons that send
//	hint-ID           ComposerHint(Coding)        what Send will do
//	earlierturns-ID   EarlierTurns(Coding)        link to the turns before these
//	talk-ID           ConversationOnly(…)         which entries there are
//	entries           ConversationEntry(…)        each by its own id, behind the one that data-after names
//	keys-ID          SessionKeys(Coding)          keys for an engine with a terminal
//	run-ID            RunPart(RunPanel)           the Pilot's run, its log and its forms
//	timeline-ID       Timeline(Coding)            turns, newest first (third column)
//	runners           RunnerRows(Runners)         "/runners"
//	new-choices       NewChoices(NewSession)      engine, command and trust, in answer to ?check=1
//	workdir           WorkdirCheck(NewSession)    the folder's verdict, in answer to ?check=1
const Fragments = "state alert placeholder pane messages sends hint keys timeline earlierturns talk"

// Assets are the addresses of the static files, content hash included.
type Assets struct {
	CSS     string // app.css
	Live    string // live.js
	Comfort string // comfort.js
	Morph   string // idiomorph.js
	Icon    string // icon.svg
	Icons   string // it and its kin with a number on it, from 0 up, parted by spaces
	Touch   string // icon-192.png, for home screens
}

// Page is what every page has.
type Page struct {
	Title    string // of the document, without the program's name; plain text; empty: the program's name alone
	Needs    int    // how many sessions need the owner
	Assets   Assets
	Nav      string // current entry: "sessions", "runners", "settings" or ""
	SignedIn bool   // false: no navigation and no sign-out
	Live     string // path of the page's socket; empty: the page does not change by itself
	Flash    string // one sentence on what the last form did; empty: none
	Look     Look
	Zone     string // that times are told in, such as "Europe/Berlin"; empty: the console's, as the reader's is not known
	Again    bool   // it may be asked for again, as it is no answer to a form
}

// document is the document's title: "(2) Fix the tests · Signalbox".
func (p Page) document() string {
	title := "Signalbox"
	if p.Title != "" {
		title = p.Title + " · Signalbox"
	}
	if p.Needs > 0 {
		title = fmt.Sprintf("(%d) %s", p.Needs, title)
	}
	return title
}

// icon is the address of the icon with the number of sessions that need the owner.
func (p Page) icon() string {
	icons := strings.Fields(p.Assets.Icons)
	if len(icons) == 0 {
		return p.Assets.Icon
	}
	return icons[min(p.Needs, len(icons)-1)]
}

// Time is a moment in words.
type Time struct {
	ISO   string // RFC 3339, for machines; empty: no moment, nothing is drawn
	Words string // "2 m" in lists, "10:42" in sentences
	Full  string // absolute, on hover
	Age   bool   // Words are an age by Age: the browser keeps them up to date
}

// State is a session's headline with its words.
type State struct {
	Headline string // needs-you, working, failed, done, ready, offline, ended, unknown: mark and colour
	Words    string // "Working · 2 m"
}

// Age gives a length of time in the words of lists: "now", "5 m", "3 h", "2 d".
// live.js counts on in the same words.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// Choice is one option of a select.
type Choice struct {
	Value    string
	Words    string
	Selected bool
	Disabled bool // shown, so that the owner knows of it, but cannot be taken; Words say why
}

// Selected gives the chosen value of cs, empty if none is.
func Selected(cs []Choice) string {
	for _, c := range cs {
		if c.Selected {
			return c.Value
		}
	}
	return ""
}
