package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/session"
)

const (
	benchSessions = 50
	benchCallers  = 500 // ten a session
)

// paneOf4KiB is a screen of 4 KiB that is another at each n.
func paneOf4KiB(n int) string {
	head := fmt.Sprintf("frame %09d\n", n)
	return head + strings.Repeat("the engine prints a line of some sixty characters to its pane\n", 70)[:4096-len(head)]
}

// otherOf4KiB is a screen of 4 KiB of which no line was on the one before it.
func otherOf4KiB(n int) string {
	var b strings.Builder
	for i := range 64 {
		fmt.Fprintf(&b, "%09d.%02d: the engine prints a line of some sixty characters\n", n, i)
	}
	return b.String()
}

// BenchmarkIngest4KiB measures durable snapshots of 4 KiB from many callers, and
// in the same run the floor: bare inserts of the same bytes by the same driver in
// batches of the size that group commit reached. share-of-floor is to be 0.5 or more.
func BenchmarkIngest4KiB(b *testing.B) {
	b.Run("Save", func(b *testing.B) {
		benchIngest(b, paneOf4KiB, func(s *Store, in Ingest, wg *sync.WaitGroup) {
			if _, err := s.SaveSnapshot(context.Background(), in); err != nil {
				b.Error(err)
			}
			wg.Done()
		})
	})
	for name, pane := range map[string]func(int) string{"Submit": paneOf4KiB, "SubmitOther": otherOf4KiB} {
		b.Run(name, func(b *testing.B) { benchIngest(b, pane, submitIn(b)) })
	}
}

func submitIn(b *testing.B) func(*Store, Ingest, *sync.WaitGroup) {
	return func(s *Store, in Ingest, wg *sync.WaitGroup) {
		s.SubmitSnapshot(in, func(_ Saved, err error) {
			if err != nil {
				b.Error(err)
			}
			wg.Done()
		})
	}
}

func benchIngest(b *testing.B, pane func(int) string, take func(*Store, Ingest, *sync.WaitGroup)) {
	s := openAt(b, filepath.Join(b.TempDir(), "bench.db"))
	ids := make([]session.ID, benchSessions)
	for i := range ids {
		ids[i] = newSession(b, s, "").ID
	}
	yes := true
	reading := session.Reading{Status: session.StatusProcessing, Rule: "spinner", Evidence: []int{21, 22}}
	batches, ops := s.writer.batches, s.writer.ops

	b.ResetTimer()
	start := time.Now()
	var wg sync.WaitGroup
	wg.Add(b.N)
	for c := range benchCallers {
		go func() {
			for n := c; n < b.N; n += benchCallers {
				take(s, Ingest{Session: ids[n%benchSessions], Reading: reading, Now: time.Now(), Snapshot: session.Snapshot{
					At: time.Now().UTC(), Pane: pane(n), Cols: 80, Rows: 24, Alive: &yes, Title: "demo", Foreground: "node",
					Cursor: &session.Cursor{X: 2, Y: 20, Visible: true},
				}}, &wg)
			}
		}()
	}
	wg.Wait()
	took := time.Since(start)
	b.StopTimer()

	size := max(1, int((s.writer.ops-ops)/max(1, s.writer.batches-batches)))
	floor := float64(b.N) / insertBare(b, b.N, size).Seconds()
	rate := float64(b.N) / took.Seconds()
	b.ReportMetric(rate, "rows/s")
	b.ReportMetric(floor, "floor-rows/s")
	b.ReportMetric(rate/floor, "share-of-floor")
	b.ReportMetric(float64(size), "rows/commit")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFloorBatchedInserts4KiB is the floor alone, in the writer's largest batches.
func BenchmarkFloorBatchedInserts4KiB(b *testing.B) {
	took := insertBare(b, b.N, batchOps)
	b.ReportMetric(float64(b.N)/took.Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
}

// insertBare inserts rows of 4 KiB in transactions of size rows, with the pragmas
// of the store, and returns how long that took.
func insertBare(b *testing.B, rows, size int) time.Duration {
	b.Helper()
	ctx := context.Background()
	db, err := sql.Open("sqlite", dsn(filepath.Join(b.TempDir(), "floor.db")))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, pane TEXT NOT NULL) STRICT`); err != nil {
		b.Fatal(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	insert, err := conn.PrepareContext(ctx, `INSERT INTO rows (session, pane) VALUES (?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	run := func(query string) {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			b.Fatal(err)
		}
	}
	start := time.Now()
	for n := 0; n < rows; {
		run(`BEGIN IMMEDIATE`)
		for end := min(n+size, rows); n < end; n++ {
			if _, err := insert.Exec(n%benchSessions, paneOf4KiB(n)); err != nil {
				b.Fatal(err)
			}
		}
		run(`COMMIT`)
	}
	return time.Since(start)
}

// BenchmarkRecords500 reads a list of 500 sessions, each with messages.
func BenchmarkRecords500(b *testing.B) {
	s := manyRecords(b)
	for b.Loop() {
		items, _, err := s.Records(context.Background(), Query{Limit: 500})
		if err != nil || len(items) != 500 {
			b.Fatal(len(items), err)
		}
	}
}

// BenchmarkRecords500Cold is the same with every state to be decoded.
func BenchmarkRecords500Cold(b *testing.B) {
	s := manyRecords(b)
	for b.Loop() {
		s.states.states.clear()
		if _, _, err := s.Records(context.Background(), Query{Limit: 500}); err != nil {
			b.Fatal(err)
		}
	}
}

func manyRecords(b *testing.B) *Store {
	ctx := context.Background()
	s := openAt(b, filepath.Join(b.TempDir(), "records.db"))
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			id := newSession(b, s, "box").ID
			for n := range 3 {
				_, err := s.SaveSnapshot(ctx, Ingest{Session: id, Now: time.Now(), Snapshot: session.Snapshot{Pane: paneOf4KiB(n), Cols: 80,
					LastTurn: &session.LastTurn{Verdict: session.VerdictOK, TurnID: "t1", At: time.Now().UTC()}}})
				if err != nil {
					b.Error(err)
				}
				if _, _, err := s.AddMessage(ctx, session.Message{Session: id, Text: "go on"}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return s
}

func BenchmarkTokenBySecret(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := openAt(b, filepath.Join(b.TempDir(), "tokens.db"))
	if _, err := s.CreateToken(ctx, "laptop", OwnerToken, "secret", time.Now()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.TokenBySecret(ctx, "secret"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoneSave4KiB(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "lone.db"))
	id := newSession(b, s, "").ID
	n := 0
	for b.Loop() {
		n++
		if _, err := s.SaveSnapshot(context.Background(), Ingest{Session: id, Now: time.Now(), Snapshot: session.Snapshot{Pane: paneOf4KiB(n)}}); err != nil {
			b.Fatal(err)
		}
	}
}
