package web

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"signalbox/desk"
	"signalbox/session"
	"signalbox/store"
	"signalbox/views"
)

// benchServer has one external session with a pane of about size bytes.
func benchServer(b *testing.B, size int) (*Server, session.ID) {
	b.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, b.TempDir()+"/console.db")
	if err != nil {
		b.Fatal(err)
	}
	d, err := desk.Open(ctx, st, &session.Feed{}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	s := New(Config{Desk: d, OwnerToken: "bench", Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(func() { s.Close(); d.Close(); st.Close() })
	made, err := d.Create(ctx, desk.NewSession{Engine: session.Generic, Runtime: session.External, Title: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	line := "the engine prints a \x1b[32mline\x1b[0m of some sixty characters to its pane\n"
	snap := session.Snapshot{Pane: strings.Repeat(line, size/len(line)+1), Format: session.ANSI, EngineRuntime: session.ChildProcess, RunState: session.Thinking}
	if _, err := d.Push(ctx, made.ID, snap); err != nil {
		b.Fatal(err)
	}
	return s, made.ID
}

// BenchmarkDraw is what one change of a session costs the server for one viewer.
func BenchmarkDraw(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s, id := benchServer(b, size)
			ctx := context.Background()
			for b.Loop() {
				v, err := s.codingState(ctx, id, asked{}, &look{zone: time.Local})
				if err != nil {
					b.Fatal(err)
				}
				var patch bytes.Buffer
				err = changedFragments(ctx, []templ.Component{
					views.PaneText(v), views.SessionState(v), views.SessionAlert(v), views.PanePlaceholder(v),
					views.Messages(v), views.ComposerHint(v), views.Timeline(v),
				}, &sentFragments{}, &patch)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
