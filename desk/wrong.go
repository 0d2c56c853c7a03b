package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"signalbox/detect"
	"signalbox/session"
	"signalbox/store"
)

// CaseFile is a screen that was read wrong, for a bug report: what console detect
// --batch takes, and beside it what it was read as and what it should be. Secrets are
// masked.
type CaseFile struct {
	ID         string          `json:"id"`
	Engine     session.Engine  `json:"engine"`
	Pane       string          `json:"pane"`
	Format     session.Format  `json:"format,omitempty"`
	Cols       int             `json:"cols,omitempty"`
	Rows       int             `json:"rows,omitempty"`
	Cursor     *session.Cursor `json:"cursor,omitempty"`
	Title      string          `json:"title,omitempty"`
	Foreground string          `json:"foreground,omitempty"`
	InMode     *bool           `json:"inMode,omitempty"`
	Alive      *bool           `json:"alive,omitempty"`

	Want     []session.Status `json:"want,omitempty"`     // any of them is right; none: the owner has not said
	Got      CaseReading      `json:"got"`                // what was shown
	Replays  session.Status   `json:"replays"`            // what the masked screen is read as, by itself
	Runtime  session.Runtime  `json:"runtime,omitempty"`  // where it is not tmux or external, the status came from RunState and Prompt, not from the screen
	RunState session.RunState `json:"runState,omitempty"` //
	Prompt   bool             `json:"prompt,omitempty"`   // the runtime reported one
	At       time.Time        `json:"at"`
	Console  string           `json:"console"` // its version
}

// CaseReading is what a screen was read as.
type CaseReading struct {
	Status     session.Status `json:"status"`
	Rule       string         `json:"rule"`
	Evidence   []int          `json:"evidence"`
	Background bool           `json:"background,omitempty"`
	CanType    bool           `json:"canType"`
	Failure    string         `json:"failure,omitempty"`
}

// Rights are what an owner may say that a status should be, with the statuses that
// are then right: nobody but the engine knows whether a turn has ended before.
var Rights = map[session.Status][]session.Status{
	session.StatusCompleted:  {session.StatusIdle, session.StatusCompleted},
	session.StatusProcessing: {session.StatusProcessing},
	session.StatusWaiting:    {session.StatusWaiting},
	session.StatusError:      {session.StatusError},
	session.StatusUnknown:    {session.StatusUnknown},
}

// rightFor are the statuses that are right where the owner wants this one.
func rightFor(want session.Status) ([]session.Status, error) {
	right, known := Rights[want]
	if !known {
		return nil, session.Problemf(session.ErrInvalid, "Say what the status should be: ready, working, waiting for you, failed, or something else.")
	}
	return right, nil
}

// Wrong keeps a case file of a moment of a session's history, or of its latest for
// 0, whose status should have been want; empty: the owner has not said.
func (d *Desk) Wrong(ctx context.Context, id session.ID, moment int64, want session.Status, build string) (store.Case, error) {
	var right []session.Status
	if want != "" {
		var err error
		if right, err = rightFor(want); err != nil {
			return store.Case{}, err
		}
	}
	rec, err := d.store.Record(ctx, id)
	if err != nil {
		return store.Case{}, err
	}
	if moment == 0 {
		moment = rec.State.PaneID
	}
	if moment == 0 {
		return store.Case{}, session.Problemf(session.ErrConflict, "Nothing has been seen of this session yet, so there is nothing to save.")
	}
	m, err := d.store.Moment(ctx, id, moment)
	if err != nil {
		return store.Case{}, err
	}
	host, _ := os.Hostname() // without it there is one name less to mask
	file := caseOf(rec.Session, m, right, []string{rec.Session.Runner, host})
	file.ID, file.Console = session.NewID("case"), build
	body, err := json.Marshal(file)
	if err != nil {
		return store.Case{}, fmt.Errorf("write a case file: %w", err)
	}
	c := store.Case{ID: file.ID, Session: id, At: d.Now(), Engine: file.Engine, Got: m.Reading.Status, Want: want, Body: string(body)}
	return c, d.store.AddCase(ctx, c)
}

// Right notes in a case file what the status should have been.
func (d *Desk) Right(ctx context.Context, id string, want session.Status) error {
	right, err := rightFor(want)
	if err != nil {
		return err
	}
	c, err := d.store.Case(ctx, id)
	if err != nil {
		return err
	}
	var file CaseFile
	if err := json.Unmarshal([]byte(c.Body), &file); err != nil {
		return fmt.Errorf("read case %s: %w", id, err)
	}
	file.Want = right
	body, err := json.Marshal(file)
	if err != nil {
		return fmt.Errorf("write a case file: %w", err)
	}
	return d.store.SetCaseWant(ctx, id, want, string(body))
}

// caseOf is the case file of a moment. It is pure.
func caseOf(s session.Session, m store.Moment, right []session.Status, names []string) CaseFile {
	snap, r := m.Snapshot, m.Reading
	f := CaseFile{
		Engine: s.ScreenEngine(), Pane: session.Mask(snap.Pane, snap.Cols, names...), Format: snap.Format, Cols: snap.Cols, Rows: snap.Rows,
		Cursor: snap.Cursor, Title: session.Mask(snap.Title, 0, names...), Foreground: snap.Foreground, InMode: snap.InMode, Alive: snap.Alive,
		Want: right, At: snap.At, RunState: snap.RunState, Prompt: snap.Prompt != nil, Runtime: session.RuntimeOf(s, snap),
		Got: CaseReading{
			Status: r.Status, Rule: r.Rule, Evidence: r.Evidence, Background: r.Background, CanType: r.CanType,
			Failure: session.Mask(r.Failure, 0, names...),
		},
	}
	if f.Got.Evidence == nil {
		f.Got.Evidence = []int{}
	}
	f.Replays = detect.Read(detect.Input{
		Engine: f.Engine, Pane: f.Pane, Format: f.Format, Cols: f.Cols, Rows: f.Rows, Cursor: f.Cursor,
		Title: f.Title, Foreground: f.Foreground, InMode: f.InMode, Alive: f.Alive,
	}).Status
	return f
}
