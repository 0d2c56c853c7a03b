package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"

	codes "modernc.org/sqlite/lib"

	"signalbox/session"
)

// heldSessions and heldRunners bound what the writer remembers.
const (
	heldSessions = 1024
	heldRunners  = 256
)

// writer owns the one connection that writes, and the goroutine that uses it.
type writer struct {
	queue    *queue
	db       *sql.DB
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt
	version  int64 // PRAGMA data_version: changes when another process has written
	sessions *lru[session.ID, held]
	runners  *lru[string, ackedTo]
	gaps     map[string]Pushed // by runner: the first push that failed and is to come again

	historyBytes atomic.Int64 // Retention.Bytes

	stopped chan struct{}
	stopErr error // set before stopped is closed

	batches, ops int64 // counted for the benchmark
}

// openWriter opens the writing connection, migrates, and starts the goroutine.
func openWriter(ctx context.Context, path string) (*writer, error) {
	if err := bePrepared(ctx, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	if err := migrate(ctx, conn, migrations); err != nil {
		conn.Close()
		db.Close()
		return nil, err
	}
	if err := takeVacuum(ctx, conn, rewrittenMost); err != nil {
		conn.Close()
		db.Close()
		return nil, err
	}
	w := &writer{
		queue: newQueue(), db: db, conn: conn, stmts: map[string]*sql.Stmt{},
		sessions: newLRU[session.ID, held](heldSessions),
		runners:  newLRU[string, ackedTo](heldRunners),
		gaps:     map[string]Pushed{},
		stopped:  make(chan struct{}),
	}
	w.historyBytes.Store(DefaultRetention.Bytes)
	go w.loop()
	return w, nil
}

func (w *writer) loop() {
	defer close(w.stopped)
	for ops := w.queue.take(); ops != nil; ops = w.queue.take() {
		w.write(ops)
	}
	_, w.stopErr = w.conn.ExecContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	for _, st := range w.stmts {
		st.Close()
	}
	w.conn.Close()
	if err := w.db.Close(); w.stopErr == nil {
		w.stopErr = err
	}
}

func (w *writer) close() error {
	w.queue.close()
	<-w.stopped
	return w.stopErr
}

// write makes the changes of ops durable and answers them. If they cannot be made
// together they are made one by one, so that one that fails harms no other.
func (w *writer) write(ops []*op) {
	live := ops[:0]
	for _, o := range ops {
		if o.taken.CompareAndSwap(false, true) {
			live = append(live, o)
		}
	}
	if len(live) == 0 {
		return
	}
	w.batches++
	w.ops += int64(len(live))

	errs, err := w.transact(live)
	if err != nil && len(live) > 1 && code(err) != codes.SQLITE_BUSY {
		for _, o := range live {
			errs, err := w.transact([]*op{o})
			w.answer(o, errs, 0, err)
		}
		return
	}
	for i, o := range live {
		w.answer(o, errs, i, err)
	}
}

// answer tells o's caller of errs[i], or of all, for which nothing was written.
func (w *writer) answer(o *op, errs []error, i int, all error) {
	if all != nil {
		w.noteGap(o.push)
		o.done(inWords(all))
		return
	}
	o.done(errs[i])
}

// noteGap notes that p failed, unless one before it did.
func (w *writer) noteGap(p *Pushed) {
	if p == nil {
		return
	}
	if gap, ok := w.gaps[p.Runner]; !ok || gap.Journal != p.Journal || gap.N > p.N {
		w.gaps[p.Runner] = *p
	}
}

// transact runs ops in one transaction. It returns each one's refusal, or the
// error for which nothing of them was written.
func (w *writer) transact(ops []*op) (refused []error, err error) {
	if _, err := w.exec(`BEGIN IMMEDIATE`); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	b := newBatch(w)
	refused, err = b.run(ops)
	if err == nil {
		if _, err = w.exec(`COMMIT`); err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	if err != nil {
		w.exec(`ROLLBACK`) // SQLite may have rolled back already
		return nil, err
	}
	b.keep()
	return refused, nil
}

// exec runs a statement, which stays prepared. It has no context: a change that
// was begun is finished.
func (w *writer) exec(query string, args ...any) (sql.Result, error) {
	st, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.Exec(args...)
}

func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if st := w.stmts[query]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", strings.Join(strings.Fields(query), " "), err)
	}
	w.stmts[query] = st
	return st, nil
}

// change runs f in the writer and returns once it is durable or has failed. An
// error of ctx's means that nothing was written.
func (s *Store) change(ctx context.Context, bytes int, f func(*batch) error) error {
	return s.do(ctx, &op{run: f, bytes: bytes})
}

// do is change for an op, whose done it sets.
func (s *Store) do(ctx context.Context, o *op) error {
	answer := make(chan error, 1)
	o.done = func(err error) { answer <- err }
	if err := s.writer.queue.put(ctx, o); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-answer // it has begun
	}
}

// later asks the writer for a change that nobody waits for and that may be lost.
func (s *Store) later(f func(*batch) error) {
	s.writer.queue.try(&op{run: f, done: func(error) {}})
}
