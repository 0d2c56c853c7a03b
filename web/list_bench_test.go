package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
	"signalbox/store"
)

// BenchmarkListOf500 is the server's time for the page "/" of 500 sessions (it is to
// be under 20 ms): after a change, which reads all of them again, and with a search.
// Its floor is the same rows read from the database and nothing else.
func BenchmarkListOf500(b *testing.B) {
	s, _ := benchServer(b, 1)
	ctx := context.Background()
	var wg sync.WaitGroup
	for n := range 499 {
		wg.Go(func() {
			ss := session.Session{
				ID: session.ID(session.NewID("s")), Title: fmt.Sprintf("session %d", n), Engine: session.Codex, Runtime: session.External,
				Dir: fmt.Sprintf("/srv/project-%d", n), CreatedAt: time.Now(),
			}
			if err := s.store.CreateSession(ctx, ss); err != nil {
				b.Error(err)
			}
			snap := session.Snapshot{Pane: strings.Repeat(fmt.Sprintf("screen %d of some words\n", n), 100), EngineRuntime: session.ChildProcess, RunState: session.Idle}
			if _, err := s.desk.Push(ctx, ss.ID, snap); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := s.store.IndexScreens(ctx, 500, true, time.Now()); err != nil {
		b.Fatal(err)
	}
	get := func(b *testing.B, path string) {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer bench")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK || strings.Count(w.Body.String(), `data-testid="session-row"`) != listPage {
			b.Fatalf("%d: %.200s", w.Code, w.Body.String())
		}
	}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			s.desk.Feed().Changed("s_other")
			get(b, "/")
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			get(b, "/")
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			s.desk.Feed().Changed("s_other")
			get(b, "/?q=screen+words")
		}
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if items, _, err := s.store.Records(ctx, store.Query{Limit: 500}); err != nil || len(items) != 500 {
				b.Fatal(len(items), err)
			}
		}
	})
}
