package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ownerToken is the owner's token in every test.
const ownerToken = "e2e-owner-token-0123456789abcdef"

// console is a running "console serve" with a data directory of its own.
type console struct {
	t     testing.TB
	home  string   // HOME, and all that is under it
	flags []string // after "serve"
	env   []string
	addr  string // host:port once it has been ready, kept over a restart
	link  string // the login link of the latest start
	cmd   *exec.Cmd
	log   *lockedBuffer // stderr of all its starts
	ended chan error
}

// option changes how a console is started.
type option func(*console)

// withFlags adds flags to "console serve".
func withFlags(flags ...string) option {
	return func(c *console) { c.flags = append(c.flags, flags...) }
}

// withProgram puts a program into the console's PATH: a shell script.
func withProgram(name, script string) option {
	return func(c *console) { c.program(name, script) }
}

// start starts a console and returns when it is ready. It is ended, with all
// that it has started, when the test is over.
func start(t testing.TB, options ...option) *console {
	t.Helper()
	c := &console{t: t, home: t.TempDir(), addr: "127.0.0.1:0", log: &lockedBuffer{}}
	for _, dir := range []string{"bin", "tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(c.home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.env = environment(c.home)
	for _, o := range options {
		o(c)
	}
	t.Cleanup(func() {
		c.kill()
		endAllOf(c.home)
		if log := c.log.String(); t.Failed() || strings.Contains(log, "DATA RACE") {
			t.Logf("console's log:\n%s", log)
		}
		if log := c.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
			t.Error("the console's log holds a data race or a panic")
		}
	})
	c.launch()
	return c
}

// environment is that of every program of a test: nothing of the machine's but
// the folders in which its shell, git and tmux are. E2E_HOME marks the processes.
func environment(home string) []string {
	path := []string{filepath.Join(home, "bin")}
	for _, name := range []string{"sh", "git", "tmux", "cat"} {
		if at, err := exec.LookPath(name); err == nil && !slices.Contains(path, filepath.Dir(at)) {
			path = append(path, filepath.Dir(at))
		}
	}
	return []string{
		"PATH=" + strings.Join(path, ":"), "HOME=" + home, "E2E_HOME=" + home,
		"XDG_DATA_HOME=" + home + "/data", "XDG_STATE_HOME=" + home + "/state", "XDG_CONFIG_HOME=" + home + "/config",
		"TMPDIR=" + home + "/tmp", "TMUX_TMPDIR=" + home + "/tmp", "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GORACE=halt_on_error=0",
	}
}

// launch starts the program and waits until it is ready.
func (c *console) launch() {
	c.t.Helper()
	args := append([]string{"serve", "--addr", c.addr, "--db", c.db(), "--token", ownerToken}, c.flags...)
	c.cmd = exec.Command(program, args...)
	c.cmd.Env, c.cmd.Dir, c.cmd.Stderr = c.env, c.home, c.log
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatalf("start the console: %v", err)
	}
	ready := make(chan string, 1)
	c.ended = make(chan error, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- strings.TrimSpace(line)
		io.Copy(io.Discard, r)
		c.ended <- c.cmd.Wait()
	}()
	select {
	case line := <-ready:
		link, ok := strings.CutPrefix(line, "ready ")
		u, err := url.Parse(link)
		if !ok || err != nil || u.Host == "" {
			c.t.Fatalf("the console said %q, not \"ready URL\"; its log:\n%s", line, c.log)
		}
		c.link, c.addr = link, u.Host
	case <-time.After(patience):
		c.t.Fatalf("the console is not ready; its log:\n%s", c.log)
	}
}

func (c *console) db() string { return filepath.Join(c.home, "console.db") }

// base is the console's address as a URL, without a slash at the end.
func (c *console) base() string { return "http://" + c.addr }

// kill ends the console with SIGKILL.
func (c *console) kill() { c.end(syscall.SIGKILL) }

// end sends the console a signal, waits for its end and returns its exit status,
// -1 for a death by signal.
func (c *console) end(sig os.Signal) int {
	c.t.Helper()
	if c.cmd == nil || c.cmd.Process == nil {
		return -1
	}
	c.cmd.Process.Signal(sig)
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.cmd.Process.Kill()
		<-c.ended
		c.t.Errorf("the console did not end on %v", sig)
	}
	status := c.cmd.ProcessState.ExitCode()
	c.cmd = nil
	return status
}

// restart starts the console again on the same port.
func (c *console) restart() {
	c.t.Helper()
	c.kill()
	c.launch()
}

// run runs a command of the program to its end and returns what it printed.
func (c *console) run(args ...string) string {
	c.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = append(c.env, "CONSOLE_DB="+c.db(), "CONSOLE_ADDR="+c.addr), c.home
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if e, ok := err.(*exec.ExitError); ok {
			stderr = string(e.Stderr)
		}
		c.t.Fatalf("console %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr)
	}
	return string(out)
}

// loginLink returns a link that has not been used: the one that the console
// printed, and a fresh one after that.
func (c *console) loginLink() string {
	c.t.Helper()
	if link := c.link; link != "" {
		c.link = ""
		return link
	}
	return strings.TrimSpace(c.run("login"))
}

// program writes an executable shell script into the console's PATH.
func (c *console) program(name, script string) {
	c.t.Helper()
	path := filepath.Join(c.home, "bin", name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// folder makes a folder with one file in it, which is not a git repository.
func (c *console) folder(name string) string {
	c.t.Helper()
	dir := filepath.Join(c.home, "work", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// repository makes a folder with one file in it, which is a git repository.
func (c *console) repository(name string) string {
	c.t.Helper()
	dir := c.folder(name)
	git := exec.Command("git", "init", "-q", dir)
	git.Env = c.env
	if out, err := git.CombinedOutput(); err != nil {
		c.t.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

// runner is a running "console runner".
type runner struct {
	c     *console
	cmd   *exec.Cmd
	state string
	name  string
	token string
	more  []string // further arguments
}

// startRunner connects a second machine, as it were, by name.
func (c *console) startRunner(name string, more ...string) *runner {
	c.t.Helper()
	token := strings.TrimSpace(c.run("token", "create", "--name", name, "--kind", "runner"))
	r := &runner{c: c, name: name, token: token, more: more, state: filepath.Join(c.home, "runner-"+name)}
	r.launch()
	c.t.Cleanup(r.kill)
	return r
}

func (r *runner) launch() {
	r.c.t.Helper()
	r.cmd = exec.Command(program, append([]string{"runner", "--server", r.c.base(), "--token", r.token, "--name", r.name, "--state", r.state}, r.more...)...)
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = r.c.env, r.c.home, r.c.log, r.c.log
	if err := r.cmd.Start(); err != nil {
		r.c.t.Fatalf("start a runner: %v", err)
	}
}

// kill ends the runner with SIGKILL.
func (r *runner) kill() {
	if r.cmd == nil {
		return
	}
	r.cmd.Process.Kill()
	r.cmd.Wait()
	r.cmd = nil
}

// endAllOf kills every process that still carries the mark of a test's
// environment: engines outlive a console that was killed.
func endAllOf(home string) {
	mark := []byte("E2E_HOME=" + home + "\x00")
	for _, pid := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && bytes.Contains(env, mark) && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processes lists the ids of all processes that this machine shows.
func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lockedBuffer collects what several writers print.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
