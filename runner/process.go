package runner

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"signalbox/session"
)

func itoa(n int) string { return strconv.Itoa(n) }

// patience is how long an end may take before the next, harder signal.
type patience struct {
	step  time.Duration // INT, then TERM after step, then KILL after another
	drain time.Duration // how long output is read on after the process has ended
}

var usualPatience = patience{step: 5 * time.Second, drain: 250 * time.Millisecond}

// process is one engine process at the head of its own process group.
type process struct {
	pid     int
	started string // tells this process from a later one of the same pid, see startOf
	patient patience

	mu    sync.Mutex
	asked string // who asked first for the end while it ran
	ended bool   // it has been waited for

	gone chan struct{} // closed when the process has ended
	dead chan struct{} // closed when it has ended, its output is read, and nothing that was to be ended lives
	exit *os.ProcessState
}

// streams are where a process's output goes; each is called by one goroutine.
type streams struct {
	out, err func(p []byte)
}

// start runs l in dir with a process group of its own. Output goes to s until
// the process has ended and what it wrote is read. It closes l.in. A child that it leaves behind
// with its output open is not waited for, and its later output is thrown away.
func (l launch) start(path, dir string, env []string, s streams, patient patience) (*process, error) {
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{l.program}, l.args...), Dir: dir, Env: env,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	in, err := l.input()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		return nil, err
	}
	defer errW.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, outW, errW
	if err := cmd.Start(); err != nil {
		outR.Close()
		errR.Close()
		return nil, err
	}
	p := &process{pid: cmd.Process.Pid, patient: patient, gone: make(chan struct{}), dead: make(chan struct{})}
	p.started, _ = startOf(p.pid) // it cannot be reused before it is waited for
	var read sync.WaitGroup
	read.Go(func() { p.read(outR, s.out) })
	read.Go(func() { p.read(errR, s.err) })
	go p.wait(cmd, &read, outR, errR)
	return p, nil
}

// input opens what the process reads: the instruction, else nothing.
func (l launch) input() (*os.File, error) {
	if l.in != nil {
		return l.in, nil
	}
	if l.stdin == "" {
		return os.Open(os.DevNull)
	}
	// A file without a name: a pipe would have to be fed while the engine runs.
	f, err := os.CreateTemp("", "signalbox-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if _, err = f.WriteString(l.stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// read passes output on until it ends or the time for draining is over, and
// after that throws it away, so that a child left behind does not die of a
// closed pipe.
func (p *process) read(f *os.File, to func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			to(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			f.SetReadDeadline(time.Time{})
			drain(f, buf, to)
			go func() {
				io.Copy(io.Discard, f)
				f.Close()
			}()
			return
		}
		if err != nil {
			f.Close()
			return
		}
	}
}

// drainMost bounds what is taken of a pipe once the time for draining is over: a
// pipe's capacity on Linux, by default and at most.
const drainMost = 1 << 20

// drain passes on what a pipe holds at this moment, without waiting. On a busy
// machine the time can be over before anything was read, and an engine's last
// words are its reason.
func drain(f *os.File, buf []byte, to func([]byte)) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < drainMost; {
		n := 0
		conn.Read(func(fd uintptr) bool { // true: do not wait for more
			n, _ = unix.Read(int(fd), buf)
			return true
		})
		if n <= 0 {
			return
		}
		to(buf[:n])
		total += n
	}
}

func (p *process) wait(cmd *exec.Cmd, read *sync.WaitGroup, pipes ...*os.File) {
	cmd.Wait()
	p.mu.Lock()
	p.exit, p.ended = cmd.ProcessState, true
	asked := p.asked != ""
	p.mu.Unlock()
	close(p.gone)
	for _, f := range pipes {
		f.SetReadDeadline(time.Now().Add(p.patient.drain))
	}
	read.Wait()
	// What is left of the group is ended if we asked for the end, and after a
	// crash, where it is a part of the engine (the npm wrappers leave the real
	// engine behind). A child left behind by an engine that ended by itself is
	// the engine's wish, and is left alone.
	if asked || p.signal() != "" {
		p.clear()
	}
	close(p.dead)
}

// clear ends what is left of the group.
func (p *process) clear() {
	if groupDead(p.pid) {
		return
	}
	unix.Kill(-p.pid, unix.SIGTERM)
	if !p.untilGroupDead(p.patient.step) {
		unix.Kill(-p.pid, unix.SIGKILL)
		p.untilGroupDead(p.patient.step)
	}
}

// end asks for the end on behalf of by and returns at once: INT, then TERM,
// then KILL, to the whole group. Only the first to ask counts, and nobody does
// once the process has ended.
func (p *process) end(by string, asked func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.asked != "" || exited(p.pid) {
		return
	}
	p.asked = by
	if asked != nil {
		asked()
	}
	unix.Kill(-p.pid, unix.SIGINT)
	go func() {
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL} {
			select {
			case <-p.gone: // clear does the rest
				return
			case <-time.After(p.patient.step):
				unix.Kill(-p.pid, sig)
			}
		}
	}()
}

// askedBy is who asked for the end; empty if nobody did while it ran.
func (p *process) askedBy() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// signal names the signal that ended the process; empty if it exited. An exit
// code such as Gemini's 144 is a code.
func (p *process) signal() string {
	if ws, ok := p.exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return name
		}
		return "signal " + itoa(int(ws.Signal()))
	}
	return ""
}

func (p *process) untilGroupDead(most time.Duration) bool { return untilGroupDead(p.pid, most) }

// untilGroupDead waits until nothing of a group lives; false if something still
// does after most.
func untilGroupDead(pgid int, most time.Duration) bool {
	for end := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		if groupDead(pgid) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// lookPath finds a program as a shell with env would; dir is where a name with
// a slash is looked for.
func lookPath(program, dir string, env []string) (string, bool) {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return program, executable(program)
	}
	for _, d := range filepath.SplitList(envOf(env, "PATH")) {
		if path := filepath.Join(d, program); filepath.IsAbs(d) && executable(path) {
			return path, true
		}
	}
	return "", false
}

func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && !fi.IsDir() && unix.Access(path, unix.X_OK) == nil
}

// envOf returns the last value of a variable.
func envOf(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// engineEnv is the environment of engines: the runner's own without what is
// for the console only, and extra, of which the last of a name counts.
func engineEnv(extra ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CONSOLE_") { // the owner's token among them
			env = append(env, v)
		}
	}
	return append(env, extra...)
}

// startError words a process that could not be started.
func startError(program string, err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return session.Problemf(session.ErrTooLarge, "The instruction is too long to be given to %s. Put it in a file and name the file.", program)
	}
	return session.Problemf(session.ErrConflict, "%s could not be started: %v.", program, err)
}
