package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"signalbox/session"
	"signalbox/store"
	"signalbox/web/push"
)

// What there is to tell is looked for at most every notifyPace, and told once it has
// held for notifySteady: a question that is answered at once is no news.
const (
	notifyPace   = time.Second
	notifySteady = 1500 * time.Millisecond
)

// notifyPrefs is what the owner wants to be told of, and where.
type notifyPrefs struct {
	Off   map[push.Kind]bool `json:"off,omitempty"` // kinds that are switched off
	Quote bool               `json:"quote,omitempty"`
	Hook  push.Hook          `json:"hook,omitzero"`
}

// The keys of meta that hold the owner's wishes and the keys that sign.
const (
	metaNotify   = "notify"
	metaPushKeys = "push-keys"
)

func (s *Server) notifyPrefs(ctx context.Context) (p notifyPrefs, err error) {
	text, err := s.store.Meta(ctx, metaNotify)
	if err != nil || text == "" {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read the settings of notifications: %w", err)
	}
	return p, nil
}

func (s *Server) saveNotifyPrefs(ctx context.Context, p notifyPrefs) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the settings of notifications: %w", err)
	}
	return s.store.SetMeta(ctx, metaNotify, string(text))
}

// pushKeys are what notices are signed with, made once.
func (s *Server) pushKeys(ctx context.Context) (keys push.Keys, err error) {
	s.pushMu.Lock()
	defer s.pushMu.Unlock()
	text, err := s.store.Meta(ctx, metaPushKeys)
	if err != nil {
		return keys, err
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &keys); err != nil {
			return keys, fmt.Errorf("read the keys of notifications: %w", err)
		}
		return keys, nil
	}
	if keys, err = push.NewKeys(); err != nil {
		return keys, err
	}
	made, err := json.Marshal(keys)
	if err != nil {
		return keys, fmt.Errorf("write the keys of notifications: %w", err)
	}
	return keys, s.store.SetMeta(ctx, metaPushKeys, string(made))
}

// notifier looks for what there is to tell.
type notifier struct {
	*Server
	started time.Time
	seen    time.Time                // everything that changed before was looked at
	steady  map[session.ID]candidate // to be told, if it holds
}

// candidate is what would be told, and since when.
type candidate struct {
	told  store.Notified
	since time.Time
}

// notify tells the owner of what changes, until ctx ends.
func (s *Server) notify(ctx context.Context) {
	n := &notifier{Server: s, started: s.desk.Now(), steady: map[session.ID]candidate{}}
	changed, stop := s.desk.Feed().Watch(session.AnySession)
	defer stop()
	changed = paced(ctx, changed, notifyPace)
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again.C:
		}
		if err := n.round(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("look for what to tell the owner", "err", err)
		}
		if len(n.steady) > 0 {
			again.Reset(notifySteady)
		}
	}
}

// round looks at the sessions that changed since the last one, and at those that
// have something to tell.
func (n *notifier) round(ctx context.Context) error {
	now := n.desk.Now()
	waiting := map[session.ID]bool{}
	for id := range n.steady {
		waiting[id] = true
	}
	runs, err := n.desk.ActiveRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		waiting[r.Session] = true
	}
	q := store.Query{Limit: 100}
	for more := true; more; {
		recs, next, err := n.store.Records(ctx, q)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if rec.LastActivity.Before(n.seen) {
				more = false
				break
			}
			delete(waiting, rec.Session.ID)
			if err := n.look(ctx, rec, now); err != nil {
				return err
			}
		}
		q.Before = next
		more = more && next != ""
	}
	for id := range waiting {
		rec, err := n.store.Record(ctx, id)
		if errors.Is(err, session.ErrNotFound) {
			delete(n.steady, id)
			continue
		}
		if err == nil {
			err = n.look(ctx, rec, now)
		}
		if err != nil {
			return err
		}
	}
	n.seen = now.Add(-2 * notifyPace) // what was being written meanwhile
	return nil
}

// look decides about one session and tells what has held for long enough.
func (n *notifier) look(ctx context.Context, rec store.Record, now time.Time) error {
	id := rec.Session.ID
	l := push.Look{Facts: n.desk.Facts(rec), Engine: engineName(rec.Session.Engine)}
	run, _, ok, err := n.desk.LatestRun(ctx, id)
	if err != nil {
		return err
	}
	if ok {
		l.Run = &run
		l.Facts.Handoff = run.State == session.RunHandoff
	}
	told, known, err := n.store.Notified(ctx, id)
	if err != nil {
		return err
	}
	tell, then := push.Decide(l, told, !known, !rec.Session.CreatedAt.Before(n.started))
	if then == told && known {
		delete(n.steady, id)
		return nil
	}
	if len(tell) > 0 {
		if c, ok := n.steady[id]; !ok || c.told != then {
			n.steady[id] = candidate{then, now}
			return nil
		}
		if now.Sub(n.steady[id].since) < notifySteady {
			return nil
		}
	}
	delete(n.steady, id)
	// Before it is sent: a restart in between is silent rather than a repeat.
	if err := n.store.SetNotified(ctx, id, then); err != nil {
		return err
	}
	if told.Muted {
		return nil
	}
	for _, notice := range tell {
		n.tasks.Go(func() {
			if err := n.tell(n.base, notice); err != nil && n.base.Err() == nil {
				n.log.Warn("a notification did not go out", "session", id, "kind", notice.Kind, "err", err)
			}
		})
	}
	return nil
}

// tell sends a notice wherever the owner wants it. It returns what went wrong, all
// of it; a browser that is gone for its push service is forgotten.
func (s *Server) tell(ctx context.Context, n push.Notice) error {
	prefs, err := s.notifyPrefs(ctx)
	if err != nil {
		return err
	}
	if prefs.Off[n.Kind] && !n.Over {
		return nil
	}
	if prefs.Quote && n.Quote != "" {
		n.Body = session.Line(n.Quote, 200)
	}
	keys, err := s.pushKeys(ctx)
	if err != nil {
		return err
	}
	sender := push.NewSender(keys, s.address())
	subs, err := s.store.Subscriptions(ctx, s.desk.Now())
	if err != nil {
		return err
	}
	var wrong []error
	for _, sub := range subs {
		gone, err := sender.Browser(ctx, sub, n)
		if gone {
			err = errors.Join(err, s.store.Unsubscribe(ctx, sub.Number))
		} else {
			said := ""
			if err != nil {
				said = err.Error()
			}
			err = errors.Join(err, s.store.NotePush(ctx, sub.Number, said, s.desk.Now()))
		}
		wrong = append(wrong, err)
	}
	if prefs.Hook.URL != "" && !n.Over {
		wrong = append(wrong, sender.Send(ctx, prefs.Hook, n, s.address()+n.URL))
	}
	return errors.Join(wrong...)
}
