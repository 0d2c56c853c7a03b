package desk

import (
	"context"
	"errors"
	"time"

	"signalbox/session"
)

// previewWait bounds the look at a command line, which touches nothing.
const previewWait = 5 * time.Second

// Preview is a command line that a session would be started with.
type Preview struct {
	Argv []string // the program and its arguments; words in capitals stand for what is not known before
	Env  []string // what is added to the environment, the owner's values left out
}

// Preview asks a runner how it would start an engine. It returns a Problem where
// the runner refuses, is not there, or is too old to say.
func (d *Desk) Preview(_ context.Context, runner string, spec session.Spec) (Preview, error) {
	l := d.link(runner)
	if l == nil {
		return Preview{}, offline(runner)
	}
	res, err := d.doWithin(l, session.Command{Do: session.DoPreview, Spec: &spec}, previewWait)
	switch {
	case err != nil:
		return Preview{}, session.Problemf(session.ErrOffline, "Runner %q gave no answer. Try again.", runner)
	case res.OK:
		return Preview{res.Argv, res.Env}, nil
	case res.Code == session.CodeUnknown:
		return Preview{}, session.Problemf(session.ErrConflict, "Runner %q is of a version that knows no presets. Update Signalbox on that machine.", runner)
	}
	return Preview{}, session.Problemf(session.ErrInvalid, "%s", res.Message)
}

// withPreset puts a preset into a session that is to be, and has its runner say
// that it takes it.
func (d *Desk) withPreset(ctx context.Context, s *session.Session, name string) error {
	if name == "" {
		return nil
	}
	p, err := d.store.Preset(ctx, name)
	if errors.Is(err, session.ErrNotFound) {
		return session.Problemf(session.ErrInvalid, "There is no preset called %q.", session.Line(name, 40))
	}
	if err != nil {
		return err
	}
	if p.Engine != s.Engine {
		return session.Problemf(session.ErrInvalid, "The preset %q launches %s, not %s.", p.Name, p.Engine, s.Engine)
	}
	s.Preset, s.Extra = p.Name, p.Extra
	_, err = d.Preview(ctx, s.Runner, session.SpecOf(*s))
	return err
}
