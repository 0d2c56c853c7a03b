package desk

import (
	"errors"
	"slices"
	"time"

	"signalbox/session"
)

// askEvery is how long a runner is left alone between two questions for what became
// of messages that it was handed and did not answer.
const askEvery = 30 * time.Second

// notAnswered is why a message is in doubt though contact with its runner stands.
const notAnswered = "The runner has not answered; whether the engine got this is not known."

// notHandedOver is what a runner says of a message that its journal does not know,
// on the connection by which it was sent.
const notHandedOver = "The runner did not hand this to the engine. Send it again if you still want it."

// askAfter has l's runner asked for the fate of messages that it was handed and did
// not answer, until it tells. The messages themselves are never sent again.
func (d *Desk) askAfter(l *link, messages ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unanswered = append(l.unanswered, messages...)
	if !l.asking {
		l.asking = true
		d.work.Go(func() { d.askOn(l) })
	}
}

// askOn asks until all is told. With the connection it ends: the next one begins by
// asking for whatever is open.
func (d *Desk) askOn(l *link) {
	for {
		if err := d.askUnanswered(l); err != nil {
			d.logEnd(l, "ask for unanswered messages", err)
		} else if l.allTold() {
			return
		}
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(askEvery):
		}
	}
}

// allTold reports that nothing is to be asked for any more, and that who asks ends.
func (l *link) allTold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking = len(l.unanswered) > 0
	return !l.asking
}

// askUnanswered asks once.
func (d *Desk) askUnanswered(l *link) error {
	open, err := d.unansweredOf(l)
	if err != nil || len(open) == 0 {
		return err
	}
	ids := make([]string, len(open))
	for i, m := range open {
		ids[i] = m.ID
	}
	res, err := d.do(l, session.Command{Do: session.DoSettle, Messages: ids})
	if err != nil {
		return err
	}
	for _, m := range open {
		fate, told := res.Fates[m.ID]
		if !told {
			continue
		}
		if err := d.stepAll(l, m, unansweredEvents(m, fate, d.Now())...); err != nil {
			return err
		}
		d.Drive(m.Session)
	}
	_, err = d.unansweredOf(l) // what is told now is not asked for again
	return err
}

// unansweredOf returns the messages that l's runner did not answer and that are in
// doubt still, and forgets the others: a turn's report may have told of them too.
func (d *Desk) unansweredOf(l *link) (open []session.Message, err error) {
	l.mu.Lock()
	ids := slices.Clone(l.unanswered)
	l.mu.Unlock()
	var told []string
	for _, id := range ids {
		m, err := d.store.FindMessage(l.ctx, id)
		switch {
		case err != nil && !errors.Is(err, session.ErrNotFound):
			return nil, err
		case err == nil && m.State == session.InDoubt && m.Outcome == "":
			open = append(open, m)
		default:
			told = append(told, id)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unanswered = slices.DeleteFunc(l.unanswered, func(id string) bool { return slices.Contains(told, id) })
	return open, nil
}

// unansweredEvents is what a fate means for m while the connection stands by which m
// was sent. Its queue has gone on since, and its sender may have too: so one that
// never came is said to be not sent, and does not go out late.
func unansweredEvents(m session.Message, f session.Fate, now time.Time) []session.Event {
	if f.State == session.FateNever {
		return []session.Event{{Kind: session.Refused, Reason: notHandedOver, At: now}}
	}
	return fateEvents(m, f, now)
}
