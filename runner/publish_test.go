package runner

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

func TestAStreamIsPushedInStatesNotInEvents(t *testing.T) {
	began := time.Now()
	g := newRig(t, custom(sh(`i=0; while [ $i -lt 400 ]; do echo "line $i"; i=$((i+1)); sleep 0.001; done`)))
	res := g.say("go")
	g.after(res.Turn)
	reports := g.reports(res.Turn)
	most := int64(time.Since(began)/pushEvery) + 10
	g.h.push.Lock()
	seq := g.h.seq
	g.h.push.Unlock()
	if seq < 3 || seq > most {
		t.Errorf("%d pushes of 400 lines in %s", seq, time.Since(began))
	}
	if !reports[0].Began || reports[0].Turn != res.Turn || len(reports) != 2 {
		t.Errorf("reports: %+v", reports)
	}
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	if n := len(g.spool.queue); n != 1 {
		t.Errorf("%d pushes wait; without a console one state is enough", n)
	}
	last := g.spool.queue[0].push.Snapshot
	if !strings.HasSuffix(last.Pane, "line 399\n") || last.RunState != session.Idle || last.LastTurn == nil || last.EngineRuntime != session.ChildProcess || last.Format != session.Plain {
		t.Errorf("the last push is not the final state: %+v", last)
	}
}

// locked is a buffer that several goroutines may write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestTheLogTellsNeitherWordsNorSecrets(t *testing.T) {
	var log locked
	c := newConsole(t)
	_, stop := serveRunner(t, c, func(cfg *Config) {
		cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	p := c.accept()
	spec := custom(sh(`echo paneword; exit 1`))
	spec.Dir = t.TempDir()
	p.command(session.Command{ID: "1", Do: session.DoOpen, Session: "s_1", Spec: &spec})
	p.command(session.Command{ID: "2", Do: session.DoTurn, Session: "s_1", Message: "m", Text: "instructionword"})
	p.push(func(p session.Push) bool { return p.Snapshot.LastTurn != nil })
	stop()
	eventually(t, "the end in the log", func() bool {
		log.mu.Lock()
		defer log.mu.Unlock()
		return strings.Contains(log.b.String(), "turn ended")
	})
	log.mu.Lock()
	defer log.mu.Unlock()
	text := log.b.String()
	for _, never := range []string{"paneword", "instructionword", "Bearer"} {
		if strings.Contains(text, never) {
			t.Errorf("the log holds %q:\n%s", never, text)
		}
	}
	for _, always := range []string{"runner=r", "session=s_1", "engine=custom"} {
		if !strings.Contains(text, always) {
			t.Errorf("the log lacks %q:\n%s", always, text)
		}
	}
}
