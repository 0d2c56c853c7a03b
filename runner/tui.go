package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"signalbox/detect"
	"signalbox/runner/tmux"
	"signalbox/session"
)

// paces are the times by which a screen is watched. They bound waiting; nothing
// is decided by a clock alone.
type paces struct {
	quiet  time.Duration // without output, before the look that tells how a screen was left
	first  time.Duration // an unchanged free composer, before the first text after a start
	stand  time.Duration // a prompt, before it is answered; after a start it is first
	free   time.Duration // a free composer, before a turn counts as ended
	idle   time.Duration // the same, for a turn whose screen has shown no work
	slow   time.Duration // the same, while nothing stands under the message, or it is not to be seen: some engines are slow to begin
	arrive time.Duration // for pasted text to stand in the composer
	enter  time.Duration // for the composer to let go of it, after each Enter
	answer time.Duration // for an answered prompt to go
	step   time.Duration // for an arrow to move a choice, an interrupt to end a turn, and between signals
	poll   time.Duration // between two looks while something is waited for
}

var usualPaces = paces{
	quiet: 150 * time.Millisecond, first: 800 * time.Millisecond, stand: 500 * time.Millisecond, free: 600 * time.Millisecond, idle: 3 * time.Second, slow: 5 * time.Minute,
	arrive: 20 * time.Second, enter: 2 * time.Second, answer: 3500 * time.Millisecond, step: 2 * time.Second,
	poll: 40 * time.Millisecond,
}

// tui holds an engine on a screen: it is the process of a tmux pane, and lives
// on when the runner ends. The pane carries the session's id, by which the next
// runner finds it.
type tui struct {
	h      *held
	eye    sync.Mutex    // held while the screen is read, so that looks are taken in their order
	moved  chan struct{} // one slot: another pane, or another engine in it
	sooner chan struct{} // one slot: a look is due that was not, or earlier

	// Guarded by h.mu.
	pane   string      // tmux's name for it; empty if there is none
	seen   tmux.Screen // the last look
	looked bool
	read   session.Reading
	free   time.Time // since when every look could be typed into; zero if the last could not
	steady bool      // that has lasted for paces.first since this engine was started or adopted
	asks   string    // the digest of the prompt on the screen; empty if there is none
	asked  time.Time // since when
	over   time.Time // since when the screen of the running turn has been free; zero if it is not
	before string    // the failure that stood on the screen when the turn's words were typed
	closed ran       // the turn that ended last
	ending bool      // a restart ends the engine, which is no outcome of its own
	worked bool      // the screen has shown work since the words that are being typed
	due    time.Time // when to look again although nothing changes; zero: not
	mute   bool      // guarded by eye: looks are not noted
}

func newTUI(h *held) *tui {
	return &tui{h: h, moved: make(chan struct{}, 1), sooner: make(chan struct{}, 1)}
}

func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), tmuxMost)
}

// pace is by which times to watch.
func (t *tui) pace() paces { return t.h.r.paces }

// open holds the session's engine: the one that lives, else a new one. An engine
// that was held and is gone is not started again without being asked.
func (t *tui) open() error {
	found, err := t.find()
	if err != nil || found {
		return nil // stands in the snapshot
	}
	t.h.mu.Lock()
	held := t.h.rec.Held
	t.h.mu.Unlock()
	if held || t.adopted() != nil {
		t.gone(t.goneWords())
		return nil
	}
	err = t.start()
	if errors.Is(err, session.ErrInvalid) {
		return err
	}
	return nil
}

const goneSentence = "Its pane in tmux is gone, and the engine with it. Start it again to go on."

// goneWords is why an engine is not there whose pane is gone.
func (t *tui) goneWords() string {
	switch ref := t.adopted(); {
	case ref == nil:
		return goneSentence
	case ref.Shelled():
		return adoptedGone
	}
	return adoptedNoPane
}

// find takes over the pane that carries the session's mark, or the owner's pane
// that was adopted.
func (t *tui) find() (bool, error) {
	if ref := t.adopted(); ref != nil {
		return t.findAdopted(*ref)
	}
	srv, err := t.h.r.tmuxServer()
	if err != nil {
		t.problem(err.Error())
		return false, err
	}
	ctx, cancel := limited()
	defer cancel()
	all, err := srv.Panes(ctx)
	if err != nil {
		t.problem("tmux does not answer: " + session.CleanDetail(err.Error()) + ".")
		return false, err
	}
	best := -1
	for i, p := range all {
		if p.Mark == string(t.h.rec.ID) && (best < 0 || all[best].Dead && !p.Dead) {
			best = i
		}
	}
	if best < 0 {
		return false, nil
	}
	t.take(all[best].ID)
	if v, err := t.look(); err == nil && v.Rows == tall { // a runner before this one was killed as it looked
		t.resize(0, 0)
	}
	return true, nil
}

// take begins to watch a pane.
func (t *tui) take(pane string) {
	t.h.mu.Lock()
	same := t.pane == pane
	t.pane = pane
	if !t.h.rec.Held {
		t.h.rec.Held = true
		defer t.h.save(true)
	}
	t.h.mu.Unlock()
	if !same {
		t.fresh()
	}
}

// fresh forgets what was seen of an engine before this one.
func (t *tui) fresh() {
	t.h.mu.Lock()
	t.free, t.steady, t.over, t.due = time.Time{}, false, time.Time{}, time.Time{}
	t.h.mu.Unlock()
	signal(t.moved)
}

func (t *tui) problem(sentence string) {
	t.h.mu.Lock()
	t.h.problem = sentence
	t.h.mu.Unlock()
	t.h.touchNow()
}

// launch is the engine to run in a pane. again goes on with its conversation.
func (t *tui) launch(again bool) (tmux.Launch, error) {
	if err := t.h.check(); err != nil {
		return tmux.Launch{}, err
	}
	spec := t.h.spec()
	preset, err := screenPresetOf(spec)
	if err != nil {
		return tmux.Launch{}, err
	}
	t.h.mu.Lock()
	thread := t.h.rec.Thread
	again = again && thread != "" && preset.Again != ""
	if !again && preset.Names {
		thread = newUUID()
		t.h.rec.Thread = thread
	}
	t.h.mu.Unlock()
	argv, env, err := preset.argv(spec, thread, again)
	if err != nil {
		return tmux.Launch{}, err
	}
	return tmux.Launch{
		Name: paneName(t.h.rec.ID), Mark: string(t.h.rec.ID), Dir: spec.Dir, Argv: argv, Env: append(screenEnv(t.h.r.cfg.Env), env...),
	}, nil
}

// paneName is what the owner attaches to.
func paneName(id session.ID) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, session.Line(string(id), 60))
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// start starts the engine in a pane of its own.
func (t *tui) start() error {
	l, err := t.launch(false)
	if err != nil {
		t.h.touchNow()
		return err
	}
	srv, err := t.h.r.tmuxServer()
	if err != nil {
		t.problem(err.Error())
		return err
	}
	t.h.save(true) // the thread's name
	ctx, cancel := limited()
	defer cancel()
	p, err := srv.Start(ctx, l)
	if errors.Is(err, tmux.ErrExists) {
		l.Name += "-" + newUUID()[:8]
		p, err = srv.Start(ctx, l)
	}
	if err != nil {
		err = startError(l.Argv[0], err)
		t.problem(err.Error())
		return err
	}
	t.h.r.log.Info("engine started", "session", t.h.rec.ID, "engine", t.h.spec().Engine, "runtime", session.Tmux)
	t.take(p.ID)
	t.look()
	return nil
}

// restart starts the engine again in its pane, with its conversation where that
// is known.
func (t *tui) restart() error {
	if t.adopted() != nil {
		return t.restartHere()
	}
	found, err := t.find()
	if err != nil {
		return session.Problemf(session.ErrConflict, "%s", t.h.problem)
	}
	if !found {
		return t.startAgain()
	}
	t.h.mu.Lock()
	t.ending = true
	t.h.mu.Unlock()
	t.end(session.ByStop)
	l, err := t.launch(true)
	t.h.mu.Lock()
	t.ending = false
	t.h.mu.Unlock()
	if err != nil {
		return err
	}
	srv, err := t.h.r.tmuxServer()
	if err != nil {
		t.problem(err.Error())
		return err
	}
	t.h.save(true)
	ctx, cancel := limited()
	defer cancel()
	if err := srv.Respawn(ctx, t.where(), l); err != nil {
		err = startError(l.Argv[0], err)
		t.problem(err.Error())
		return err
	}
	t.problem("")
	t.fresh()
	t.look()
	return nil
}

// restartHere ends an adopted engine, which the owner asks for, and starts it in a
// pane of the runner's own.
func (t *tui) restartHere() error {
	if _, err := t.find(); err != nil {
		return session.Problemf(session.ErrConflict, "%s", t.h.problem)
	}
	t.end(session.ByStop)
	t.letGo("")
	return t.startAgain()
}

// startAgain starts the engine anew where its pane is gone.
func (t *tui) startAgain() error {
	t.endTurn(session.LastTurn{Verdict: session.VerdictUnknown, Detail: "The engine was gone before this turn ended."})
	t.problem("")
	return t.start()
}

func (t *tui) where() string {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	return t.pane
}

// watch looks whenever the pane changes, once more when it has become quiet, and
// when something is due.
func (t *tui) watch() {
	for {
		srv, err := t.watched()
		pane := t.where()
		if srv == nil || err != nil || pane == "" {
			select {
			case <-t.moved:
				continue
			case <-t.h.r.closing:
				return
			}
		}
		changed, stop := srv.Watch(pane)
		again := t.watchPane(changed)
		stop()
		if !again {
			return
		}
	}
}

// watched is the tmux server, if it is connected: a watch starts none.
func (t *tui) watched() (*tmux.Server, error) {
	ref, r := t.adopted(), t.h.r
	r.panes.mu.Lock()
	defer r.panes.mu.Unlock()
	if ref != nil {
		return r.panes.owners[ref.Socket], nil
	}
	return r.panes.server, nil
}

func (t *tui) watchPane(changed <-chan struct{}) (again bool) {
	const overdue = 20 * time.Millisecond // until a look that the last one should have been, but it told nothing

	timer := time.NewTimer(0)
	defer timer.Stop()
	quiet := time.Time{} // when the pane will have been quiet; zero if it is
	for {
		least := overdue
		select {
		case <-t.h.r.closing:
			return false
		case <-t.moved:
			return true
		case <-t.sooner: // by a look of somebody else's, after which the screen may stand still
			least = time.Millisecond
		case <-changed:
			quiet = time.Now().Add(t.pace().quiet)
			t.look()
		case <-timer.C:
			if !quiet.IsZero() && !time.Now().Before(quiet) {
				quiet = time.Time{}
			}
			t.look()
		}
		next := quiet
		t.h.mu.Lock()
		if !t.due.IsZero() && (next.IsZero() || t.due.Before(next)) {
			next = t.due
		}
		t.h.mu.Unlock()
		if timer.Stop(); !next.IsZero() {
			timer.Reset(max(time.Until(next), least))
		}
	}
}

// look reads the screen, and files and pushes what is new.
func (t *tui) look() (view, error) {
	t.eye.Lock()
	defer t.eye.Unlock()
	srv, err := t.watched()
	pane := t.where()
	if err != nil || srv == nil || pane == "" {
		return view{read: session.Reading{Status: session.StatusUnknown}}, tmux.ErrNoPane
	}
	ctx, cancel := limited()
	defer cancel()
	sc, err := srv.Capture(ctx, pane)
	if err != nil {
		t.blind(err)
		return view{read: session.Reading{Status: session.StatusUnknown}}, err
	}
	if ref := t.adopted(); ref != nil {
		if why, is := strayed(*ref, sc); is {
			t.unmark(srv, *ref)
			t.gone(why)
			return view{read: session.Reading{Status: session.StatusUnknown}}, tmux.ErrNoPane
		}
	}
	in := t.input(sc)
	v := view{Screen: sc, read: detect.Read(in)}
	v.field, v.composed = detect.Composer(in)
	if !t.mute {
		t.note(v)
	}
	return v, nil
}

// input is a screen as detection reads it.
func (t *tui) input(sc tmux.Screen) detect.Input {
	alive := !sc.Dead
	in := detect.Input{
		Engine: t.h.spec().ScreenEngine(), Pane: sc.Text, Format: session.ANSI, Cols: sc.Cols, Rows: sc.Rows,
		Cursor: &session.Cursor{X: sc.CursorX, Y: sc.CursorY, Visible: sc.Visible},
		Title:  sc.Title, Foreground: sc.Foreground, InMode: &sc.InMode, Alive: &alive,
	}
	if sc.Dead {
		in.ExitCode, in.Foreground = sc.Exit, ""
	}
	return in
}

// blind takes a look that failed. A pane that is gone took its engine with it; a
// tmux that does not answer now says nothing of the engine.
func (t *tui) blind(err error) {
	ref := t.adopted()
	if errors.Is(err, tmux.ErrNoPane) || ref != nil && !lives(*ref) { // nobody starts the owner's server again
		t.gone(t.goneWords())
		return
	}
	t.h.mu.Lock()
	t.free, t.over = time.Time{}, time.Time{}
	t.due = time.Now().Add(time.Second)
	signal(t.sooner)
	t.h.mu.Unlock()
}

// gone notes that there is no pane any more. How the engine ended is not known.
func (t *tui) gone(sentence string) {
	t.h.mu.Lock()
	if t.h.rec.Ended && sentence != letGoSentence {
		sentence = stoppedSentence
	}
	already := t.pane == "" && t.h.problem == sentence
	if t.looked {
		t.h.rec.Pane = t.seen.Text // the last screen stays readable
	}
	t.pane, t.looked, t.due, t.free, t.over, t.steady = "", false, time.Time{}, time.Time{}, time.Time{}, false
	t.h.problem = sentence
	last := session.LastTurn{Verdict: session.VerdictUnknown, Detail: "tmux ended, and the engine with it."}
	if t.h.rec.adopted() != nil {
		last.Detail = "The engine was left, or let go, while this turn ran."
		if run := t.h.rec.Runs; run != nil && run.Asked == session.ByStop {
			last = session.LastTurn{Verdict: session.VerdictKilled, RequestedBy: &run.Asked}
		}
	}
	t.h.mu.Unlock()
	if already {
		return
	}
	t.endTurn(last)
	signal(t.moved)
	t.h.touchNow()
}

// note takes a look: what it shows is pushed if it is new, and the running turn
// is followed by it.
func (t *tui) note(v view) {
	sc, r, now := v.Screen, v.read, time.Now()
	t.h.mu.Lock()
	new := !t.looked || t.seen.PID != sc.PID
	changed := new || t.seen.Text != sc.Text || t.seen.CursorX != sc.CursorX || t.seen.CursorY != sc.CursorY ||
		t.seen.Visible != sc.Visible || steady(t.seen.Title) != steady(sc.Title) || t.seen.Foreground != sc.Foreground ||
		t.seen.InMode != sc.InMode || t.seen.Dead != sc.Dead || t.seen.Cols != sc.Cols || t.seen.Rows != sc.Rows
	if new {
		t.free, t.steady, t.over = time.Time{}, false, time.Time{}
	}
	t.seen, t.read, t.looked = sc, r, true
	if t.due.Before(now) {
		t.due = time.Time{}
	}
	digest := ""
	if r.Prompt != nil {
		digest = r.Prompt.Digest
	}
	if digest != t.asks || new {
		t.asks, t.asked = digest, now
	}
	settled := false
	switch {
	case !r.CanType:
		t.free = time.Time{}
	case t.free.IsZero():
		t.free = now
	}
	if !t.steady && !t.free.IsZero() {
		preset, _ := screenPreset(t.h.rec.Spec.Engine)
		if at := t.free.Add(max(t.pace().first, preset.Settle)); now.Before(at) {
			t.dueAt(at)
		} else {
			t.steady, settled = true, true // the console hears of it, and tries again
		}
	}
	filed := t.follow(v, now)
	t.h.mu.Unlock()
	if filed != nil {
		t.learn(sc)
		t.keep(*filed)
	}
	if sc.Dead {
		t.bury(sc)
	}
	switch {
	case filed != nil || settled:
		t.h.touchNow()
	case changed:
		t.h.touch()
	}
}

// steady is a title without what turns or blinks in it, by which alone nothing
// is pushed: "⠋ demo" and "⠙ demo" are one, "✳ demo" is another.
func steady(title string) string {
	for _, blink := range []string{"[ ! ]", "[ . ]"} {
		if rest, ok := strings.CutPrefix(title, blink); ok {
			return "!" + rest
		}
	}
	switch r, n := utf8.DecodeRuneInString(title); {
	case r > 0x2800 && r <= 0x28ff, r == '◐', r == '◑', r == '◒', r == '◓':
		return "~" + title[n:]
	}
	return title
}

// dueAt asks for a look at a time; h.mu is held.
func (t *tui) dueAt(at time.Time) {
	if t.due.IsZero() || at.Before(t.due) {
		t.due = at
		signal(t.sooner)
	}
}

// snapshot describes the screen as it was seen last; h.mu is held.
func (t *tui) snapshot(of session.Snapshot) session.Snapshot {
	of.EngineRuntime, of.Format, of.Pane = session.Tmux, session.ANSI, t.h.rec.Pane
	alive := false
	if t.looked {
		sc := t.seen
		alive = !sc.Dead && !(t.h.rec.Ended && t.pane == "") && t.pane != ""
		of.Pane, of.Cols, of.Rows, of.Title, of.Foreground, of.InMode = sc.Text, sc.Cols, sc.Rows, sc.Title, sc.Foreground, &sc.InMode
		of.Cursor = &session.Cursor{X: sc.CursorX, Y: sc.CursorY, Visible: sc.Visible}
		if sc.Dead && sc.Signal == "" {
			of.Exit = sc.Exit
		}
	} else if t.pane != "" || t.h.problem == "" {
		return of // not looked yet: nothing is measured
	}
	of.Alive, of.Ready = &alive, &alive
	return of
}

// text is the screen as it was seen last; h.mu is held.
func (t *tui) text() string {
	if t.looked {
		return t.seen.Text
	}
	return t.h.rec.Pane
}

// learn notes the engine's name for its conversation, where it can be seen: in
// what it prints as it ends, or in the files that it holds open.
func (t *tui) learn(sc tmux.Screen) {
	preset, ok := screenPreset(t.h.spec().Engine)
	if !ok || preset.Names {
		return
	}
	thread := ""
	switch {
	case sc.Dead && !sc.Alternate && preset.Left != nil:
		if all := preset.Left.FindAllStringSubmatch(plain(sc.Text), -1); all != nil {
			thread = all[len(all)-1][1]
		}
	case !sc.Dead && preset.Holds != nil && sc.PID > 1:
		for _, path := range filesOf(sc.PID) {
			if m := preset.Holds.FindStringSubmatch(path); m != nil {
				thread = m[1]
			}
		}
	}
	if thread == "" {
		return
	}
	t.h.mu.Lock()
	t.h.rec.Thread = thread
	t.h.mu.Unlock()
}

// bury files how the engine ended, once for each process.
func (t *tui) bury(sc tmux.Screen) {
	grave := fmt.Sprintf("%s:%d", sc.Pane, sc.PID)
	h := t.h
	t.learn(sc)
	h.mu.Lock()
	if h.rec.Buried == grave {
		ended := h.rec.Ended
		if h.problem == "" {
			h.problem = howItEnded(sc, ended)
		}
		h.mu.Unlock()
		return
	}
	h.rec.Buried = grave
	ended := h.rec.Ended
	run := h.rec.Runs
	h.problem = howItEnded(sc, ended)
	by := ""
	switch {
	case ended:
		by = session.ByStop
	case run != nil && run.Asked == session.ByStop:
		by = session.ByStop
	}
	last := session.LastTurn{ExitCode: sc.Exit}
	if sc.Signal != "" {
		last.Signal = &sc.Signal
	}
	files := true
	switch {
	case t.ending && run == nil:
		files = false
	case by != "":
		last.Verdict, last.RequestedBy = session.VerdictKilled, &by
	case sc.Signal == "" && (sc.Exit == nil || *sc.Exit == 0):
		files = false
		last.Verdict, last.Detail = session.VerdictUnknown, "The engine was left while this turn ran."
	default:
		last.Verdict, last.Detail = session.VerdictFailed, lastWords(sc)
	}
	h.mu.Unlock()
	if run == nil && !files {
		h.save(true)
		h.touchNow()
		return
	}
	if run == nil {
		t.beginTurn("", "", false) // the end of the engine is an outcome of its own
	}
	t.endTurn(last)
}

// howItEnded is why the engine is not there.
func howItEnded(sc tmux.Screen, asked bool) string {
	switch {
	case asked:
		return stoppedSentence
	case sc.Signal != "":
		return "The engine was ended by " + sc.Signal + ". Start it again to go on."
	case sc.Exit != nil && *sc.Exit != 0:
		return "The engine exited with code " + itoa(*sc.Exit) + ". Start it again to go on."
	}
	return "The engine was left. Start it again to go on."
}

// lastWords is the last line of an engine that ended by itself with a code. What
// a killed one leaves on the screen, or an interface in the alternate screen, is
// no last word.
func lastWords(sc tmux.Screen) string {
	if sc.Signal != "" || sc.Alternate {
		return ""
	}
	lines := strings.Split(plain(sc.Text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !tellsNothing(lines[i]) {
			return session.CleanDetail(lines[i])
		}
	}
	return ""
}

// stop ends the engine. Its pane stays, and can be started again.
func (t *tui) stop(said func(session.Result)) {
	t.h.mu.Lock()
	t.h.rec.Ended = true
	if t.pane == "" {
		t.h.problem = stoppedSentence
	}
	t.h.mu.Unlock()
	t.h.save(true)
	if t.where() == "" {
		t.find()
	}
	said(session.Result{OK: true})
	t.end(session.ByStop)
	if t.adopted() != nil {
		t.letGo(stoppedSentence)
	}
	t.h.touchNow()
}

// end ends the engine, politely first, and all of its process group. It returns
// when its end is filed, or when that cannot be had.
func (t *tui) end(by string) {
	sc, err := t.look()
	if err != nil || sc.Dead {
		return
	}
	t.h.mu.Lock()
	if t.h.rec.Runs != nil {
		t.h.rec.Runs.Asked = by
	}
	t.h.mu.Unlock()
	srv, err := t.server()
	if err != nil {
		return
	}
	t.learn(sc.Screen)
	group, ref := sc.PID, t.adopted()
	if ref != nil {
		group = ref.Group
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGKILL} {
		ctx, cancel := limited()
		var err error
		if ref != nil {
			err = signalAdopted(*ref, sig)
		} else {
			err = srv.Signal(ctx, sc.Pane, sig)
		}
		cancel()
		if err != nil {
			t.h.r.log.Warn("signal an engine", "session", t.h.rec.ID, "err", err)
		}
		if t.until(t.pace().step, func(now view) bool { return now.Dead }) || ref != nil && !lives(*ref) {
			break
		}
	}
	if group > 1 && !groupDead(group) && (ref == nil || lives(*ref)) { // what a wrapper left behind
		unix.Kill(-group, unix.SIGKILL)
		untilGroupDead(group, t.pace().step)
	}
	t.look()
}

// until looks until something is so, or most has passed.
func (t *tui) until(most time.Duration, is func(view) bool) bool {
	for end := time.Now().Add(most); ; {
		v, err := t.look()
		if err == nil && is(v) {
			return true
		}
		if errors.Is(err, tmux.ErrNoPane) || time.Now().After(end) {
			return false
		}
		select {
		case <-time.After(t.pace().poll):
		case <-t.h.r.closing:
			return false
		}
	}
}
