package runner

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"signalbox/session"
)

// probeMost is how long a runner waits for versions before it says hello.
const probeMost = 3 * time.Second

// versionMost is how long one engine may take to print its version. It may be
// longer than probeMost: the next hello then has it.
const versionMost = 20 * time.Second

// Probe finds the engines of this machine that this build has a preset for, and
// asks those that are there for their versions, side by side. It returns after
// probeMost or when ctx ends, then without the versions that are still out; a
// later call has them.
func Probe(ctx context.Context) []session.EngineFound { return probe(ctx, engineEnv()) }

func probe(ctx context.Context, env []string) []session.EngineFound {
	ctx, cancel := context.WithTimeout(ctx, probeMost)
	defer cancel()
	found := make([]session.EngineFound, len(Presets))
	var all sync.WaitGroup
	for i, p := range Presets {
		path, _ := lookPath(p.Program, "/", env)
		found[i] = p.found(path, "")
		if path == "" {
			continue
		}
		all.Go(func() { found[i].Version = versionOf(ctx, path, env) })
	}
	all.Wait()
	custom := session.EngineFound{
		Engine: session.Custom, Found: true,
		Runtimes: []session.Runtime{session.ChildProcess}, Trusts: []session.Trust{},
	}
	if tmuxFit() == nil {
		custom.Runtimes = append(custom.Runtimes, session.Tmux)
	}
	return append(found, custom)
}

// versions remembers what programs printed, until they change.
var versions struct {
	sync.Mutex
	known map[versionKey]*versionAnswer
}

type versionKey struct {
	path    string
	changed time.Time
	size    int64
}

type versionAnswer struct {
	ready chan struct{}
	text  string
}

// versionOf returns the version that the program prints, or "" if it has not by
// the end of ctx.
func versionOf(ctx context.Context, path string, env []string) string {
	fi, err := os.Stat(path)
	if err != nil {
		return ""
	}
	key := versionKey{path, fi.ModTime(), fi.Size()}
	versions.Lock()
	a := versions.known[key]
	if a == nil {
		a = &versionAnswer{ready: make(chan struct{})}
		if versions.known == nil {
			versions.known = map[versionKey]*versionAnswer{}
		}
		versions.known[key] = a
		go func() {
			a.text = askVersion(path, env)
			if a.text == "" { // ask again next time
				versions.Lock()
				delete(versions.known, key)
				versions.Unlock()
			}
			close(a.ready)
		}()
	}
	versions.Unlock()
	select {
	case <-a.ready:
		return a.text
	case <-ctx.Done():
		return ""
	}
}

func askVersion(path string, env []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), versionMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return ""
	}
	line, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	return session.Line(plain(line), 80)
}
