package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
	"signalbox/web/pane"
)

func (s *Server) codingTab(c echo.Context) error {
	v, err := s.coding(c, asked{})
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Session(v))
}

// coding gathers one session's page.
func (s *Server) coding(c echo.Context, asked asked) (views.Coding, error) {
	ctx, id := c.Request().Context(), sessionID(c)
	asked.shown = c.QueryParam("shown")
	look := lookOf(c)
	v, err := s.codingState(ctx, id, asked, look)
	if err != nil {
		return v, err
	}
	live := look.query()
	if asked.shown != "" {
		live.Set("shown", asked.shown)
	}
	if v.Talk.Shown && look.before == "" {
		live.Set("have", sumOf(v.Talk.Rendered))
	}
	v.Page = s.page(c, v.Title, "sessions")
	v.Page.Live = "/sessions/" + v.ID + "/live"
	if len(live) > 0 {
		v.Page.Live += "?" + live.Encode()
	}
	v.Pane.NoWrap = c.QueryParam("wrap") == "0"
	if v.List, err = s.beside(ctx, id, look.zone); err != nil {
		return v, err
	}
	if v.Away, err = s.awayLine(ctx, id, s.now(c)); err != nil {
		return v, err
	}
	if v.Saved, err = s.wrongSaved(c, "/sessions/"+v.ID); err != nil {
		return v, err
	}
	v.Composer.Key = session.NewID("k")
	if mid := c.QueryParam("reuse"); mid != "" {
		if m, err := s.store.Message(ctx, id, mid); err == nil {
			v.Composer.Text = m.Text
		}
	}
	return v, nil
}

// beside is the list that stands beside a session on a desk.
func (s *Server) beside(ctx context.Context, id session.ID, zone *time.Location) (views.List, error) {
	board, err := s.desk.Board(ctx)
	return rows(board.Items[:min(len(board.Items), listPage)], id, s.nowIn(zone)), err
}

// codingState gathers what of a session's page changes by itself.
func (s *Server) codingState(ctx context.Context, id session.ID, asked asked, look *look) (views.Coding, error) {
	view, err := s.desk.View(ctx, id)
	if err != nil {
		return views.Coding{}, err
	}
	f := s.desk.Facts(view.Record)
	if p := f.Prompt(); p != nil && p.Elided {
		asked.whole, _ = s.desk.WholeOf(id, p.ID)
	}
	v := codingView(f, view.Messages, view.Resumes, asked, s.nowIn(look.zone))
	if f.Session.Runtime.Structured() {
		if err := s.talk(ctx, &v, f, view.Messages, look); err != nil {
			return v, err
		}
	}
	if v.CanInterrupt {
		if v.Turn, err = s.desk.RunningTurn(ctx, f.Session); err != nil {
			return v, err
		}
	}
	snap := view.Record.State.Snapshot
	v.Pane = views.Pane{HTML: pane.Screen(view.Pane, snap.Format == session.ANSI || snap.Format == session.Raw, snap.Cols), Seq: snap.Seq}
	told, _, err := s.store.Notified(ctx, id)
	if err != nil {
		return v, err
	}
	v.Muted = told.Muted
	v.Run, err = s.runPanel(ctx, f, view.Steps, look.zone)
	return v, err
}

// codingView chooses the words of a session's page. It is pure.
func codingView(f session.Facts, messages []session.Message, resumes bool, asked asked, now time.Time) views.Coding {
	s := f.Session
	v := views.Coding{
		ID: string(s.ID), Title: s.Title, State: stateOf(f, now), Line: headerLine(f, now), Reason: reason(f),
		Status: string(f.Status()), Where: whereInFull(s), Parents: parents(s.Dir), Notice: notice(f, now),
		Placeholder: placeholderView(f), Messages: messageList(messages, now), Turns: turnList(messages, now),
	}
	v.Page.Title = v.Title
	if f.State.PaneID != 0 {
		v.Wrong = views.Wrong{Session: v.ID} // always of the latest screen: its number would be sent with each
	}
	if b, ok := bannerOf(f); ok {
		v.Banner = &views.Banner{
			Heading: b.Heading, Words: b.Explain, Detail: b.Detail, Verdict: string(b.Verdict), Failures: b.Failures,
		}
		if b.ExitCode != nil {
			v.Banner.ExitCode = fmt.Sprint(*b.ExitCode)
		}
	}
	if p := f.Prompt(); p != nil {
		v.Prompt = promptView(s.ID, *p, asked)
		v.Prompt.Whole = v.Prompt.Whole && s.Runtime == session.Tmux && f.Connected
	}
	if s.Runtime == session.External {
		if v.Prompt != nil {
			watchOnly(v.Prompt)
		}
		v.Composer.Off = "This session is only watched: nothing can be sent to it from here."
		v.Composer.Placeholder = "Nothing can be sent"
		return v
	}
	if s.Runtime == session.Tmux && f.Connected && !gone(f) {
		v.Keys = keyPad(f)
	}
	v.CanInterrupt = turnRuns(f)
	v.CanStop = s.StoppedAt.IsZero() && !gone(f)
	v.StopWords = "End session"
	if s.Adopted != nil {
		v.StopWords, v.CanLeave = "End the engine", v.CanStop && f.Connected
	}
	v.CanRestart = gone(f)
	v.Composer.Placeholder = "Instruction"
	if s.Engine != session.Custom && s.Engine != session.Generic {
		v.Composer.Placeholder += " for " + engineName(s.Engine)
	}
	v.Composer.Hint = hint(f, resumes)
	if f.Running() {
		v.Composer.Preempt = "Stop this turn and send now"
	}
	if f.Running() && s.Runtime.Structured() {
		v.Composer.Queue, v.Composer.Preempt = "Send when it is done", "Stop and send now"
		v.Composer.Hint = "Goes out when this turn is done."
	}
	if f.CanSteer() {
		v.Composer.Steer, v.Composer.Hint = "Steer now", "Steer now joins this turn."
	}
	return v
}

func (s *Server) codingLive(c echo.Context) error {
	return s.orSignedOut(c, func() error {
		id := sessionID(c)
		if _, err := s.desk.Session(c.Request().Context(), id); err != nil {
			return err
		}
		noWrap, shown, look := c.QueryParam("wrap") == "0", c.QueryParam("shown"), lookOf(c)
		parts := []part{{of: id, have: c.QueryParam("have"), draw: func(ctx context.Context) ([]templ.Component, error) {
			v, err := s.codingState(ctx, id, asked{shown: shown}, look)
			if err != nil {
				return nil, err
			}
			v.Pane.NoWrap = noWrap
			return append([]templ.Component{
				views.PaneText(v), // first: see views.Fragments
				views.SessionState(v), views.SessionAlert(v), views.PanePlaceholder(v), views.Messages(v),
				views.ComposerSends(v), views.ComposerHint(v), views.SessionKeys(v), views.Timeline(v), views.RunPart(v.Run),
			}, talkFragments(v, look)...), nil
		}}}
		if c.QueryParam("list") == "1" { // a desk shows the list beside the session
			parts = append(parts, part{of: session.AnySession, pace: besidePace, draw: func(ctx context.Context) ([]templ.Component, error) {
				list, err := s.beside(ctx, id, look.zone)
				return []templ.Component{views.Needs(s.needs(ctx)), views.SessionRows(list)}, err
			}})
		} else {
			parts = append(parts, part{of: session.AnySession, pace: besidePace, draw: func(ctx context.Context) ([]templ.Component, error) {
				return []templ.Component{views.Needs(s.needs(ctx))}, nil
			}})
		}
		return s.live(c, parts...)
	})
}
