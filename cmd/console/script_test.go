package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"console": main})
}

// patience bounds every wait. Nothing waits for so long unless it fails.
const patience = time.Minute

// The command line, as it is typed: each file in testdata is a terminal session in
// a home of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator)) // only console
			for name, value := range map[string]string{
				"HOME": e.WorkDir + "/home", "XDG_DATA_HOME": e.WorkDir + "/home/data", "PATH": bin + ":" + e.WorkDir + "/bin", "DATA": e.WorkDir + "/home/data/signalbox",
				"NO_PROXY": "*", "TZ": "UTC",
			} {
				e.Setenv(name, value)
			}
			return os.MkdirAll(e.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "serve": serveInBackground, "terminate": terminate, "fetch": fetch, "mode": mode, "holds": holds, "forge": forge, "keep": keep, "keepid": keepID, "untilconnected": untilConnected,
		},
	})
}

// runIn runs a program in the script's environment and returns its exit status.
func runIn(ts *testscript.TestScript, args []string) int {
	cmd := command(ts, args)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%s: %v", args[0], err)
	}
	return cmd.ProcessState.ExitCode()
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	bin, _, _ := strings.Cut(ts.Getenv("PATH"), ":")
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_DATA_HOME", "NO_PROXY", "TZ", "CONSOLE_DB", "CONSOLE_TOKEN", "CONSOLE_ADDR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// exits STATUS PROGRAM ARGS… runs it and checks its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := runIn(ts, args[1:]); got != want || neg {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// serving is the background console of a script.
type serving struct {
	cmd  *exec.Cmd
	errs bytes.Buffer
	more chan string // what it printed after its first line
}

// servers are the scripts' consoles, by their folder.
var (
	serversMu sync.Mutex
	servers   = map[string]*serving{}
)

// serve FLAGS… starts a console and goes on once it says that it is ready; URL and
// LINK say where.
func serveInBackground(ts *testscript.TestScript, neg bool, args []string) {
	s := &serving{more: make(chan string, 1)}
	s.cmd = command(ts, append([]string{"console", "serve", "--addr", "127.0.0.1:0"}, args...))
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	s.cmd.Stderr = &s.errs
	ts.Check(s.cmd.Start())
	ts.Defer(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		first <- line
		rest, _ := io.ReadAll(r)
		s.more <- string(rest)
	}()
	var line string
	select {
	case line = <-first:
	case <-time.After(patience):
	}
	link, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	u, err := url.Parse(link)
	if !ok || err != nil || u.Host == "" || !strings.HasSuffix(line, "\n") {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		ts.Fatalf("the console said %q, not \"ready URL\":\n%s", line, s.errs.String())
	}
	ts.Setenv("URL", "http://"+u.Host)
	ts.Setenv("LINK", link)
	ts.Setenv("HOSTPORT", u.Host)
	serversMu.Lock()
	defer serversMu.Unlock()
	servers[ts.Getenv("WORK")] = s
}

// terminate sends the console SIGTERM and checks that it ends with status 0, and
// that it printed one line.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	serversMu.Lock()
	s := servers[ts.Getenv("WORK")]
	serversMu.Unlock()
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case rest := <-s.more:
		if rest != "" {
			ts.Fatalf("it printed more than one line: %q", rest)
		}
	case <-time.After(patience):
		ts.Fatalf("the console did not end:\n%s", s.errs.String())
	}
	_ = s.cmd.Wait()
	if status := s.cmd.ProcessState.ExitCode(); status != 0 {
		ts.Fatalf("the console ended with status %d:\n%s", status, s.errs.String())
	}
	fmt.Fprint(ts.Stderr(), s.errs.String())
}

// fetch STATUS METHOD URL [TOKEN [BODY]] asks and checks the status; stdout is the
// answer, after the address that it sends to.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = append(args, "", "")
	req, err := http.NewRequest(args[1], args[2], strings.NewReader(args[4]))
	ts.Check(err)
	if args[3] != "" {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(args[3]))
	}
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "to %s cookies %d\n%s", res.Header.Get("Location"), len(res.Cookies()), body)
	if res.StatusCode != want {
		ts.Fatalf("%s %s: status %d, want %d: %s", args[1], args[2], res.StatusCode, want, body)
	}
}

// untilconnected waits until a runner is connected, which /runners tells.
func untilConnected(ts *testscript.TestScript, neg bool, args []string) {
	for late := time.Now().Add(patience); time.Now().Before(late); {
		req, err := http.NewRequest("GET", ts.Getenv("URL")+"/api/v1/runners", nil)
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+ts.Getenv("CONSOLE_TOKEN"))
		res, err := http.DefaultClient.Do(req)
		ts.Check(err)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		ts.Check(err)
		if bytes.Contains(body, []byte(`"name":"`+args[0]+`","connected":true`)) != neg {
			return
		}
	}
	ts.Fatalf("runner %s is not connected", args[0])
}

// keep NAME [FILE] keeps what was printed last, or a file's words, in a variable.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(append(args, "stdout")[1])))
}

// keepid NAME keeps the id of the object that was fetched last.
func keepID(ts *testscript.TestScript, neg bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stdout"), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok || id == "" {
		ts.Fatalf("nothing with an id was fetched")
	}
	ts.Setenv(args[0], id)
}

// mode FILE 0600 checks a file's permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%#o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// holds WORDS FILE… checks that one of the files holds words, byte for byte; a file
// that is not there holds nothing.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	found := false
	for _, name := range args[1:] {
		data, err := os.ReadFile(ts.MkAbs(name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		found = found || bytes.Contains(data, []byte(strings.TrimSpace(args[0])))
	}
	if found == neg {
		ts.Fatalf("%q is in %v: %t", args[0], args[1:], found)
	}
}

// forge FRAME starts a console that answers every runner's hello with FRAME; URL
// says where.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	upgrader := websocket.Upgrader{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		if _, _, err := ws.ReadMessage(); err == nil {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(args[0]))
			_, _, _ = ws.ReadMessage()
		}
	}))
	ts.Defer(srv.CloseClientConnections)
	ts.Setenv("URL", srv.URL)
}
