package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"signalbox/session"
)

// lookMost is how long a look at a folder may take: a mount that hangs must not.
const lookMost = 3 * time.Second

// CheckWorkdir looks at a folder on this machine before a session starts in it
// (contract §5). ~ is the home folder. It answers within lookMost, with
// unverified where nobody could look, which condemns nothing.
func CheckWorkdir(dir string) session.WorkdirReport { return checkWorkdir(dir, engineEnv()) }

func checkWorkdir(dir string, env []string) session.WorkdirReport {
	path, err := expand(dir)
	if err != nil {
		return session.WorkdirReport{Verdict: session.WorkdirMissing, Path: dir, Detail: err.Error()}
	}
	answer := make(chan session.WorkdirReport, 1)
	go func() {
		verdict, detail := look(path, env)
		answer <- report(path, verdict, detail)
	}()
	select {
	case r := <-answer:
		return r
	case <-time.After(lookMost):
		return report(path, session.WorkdirUnverified, fmt.Sprintf("The folder did not answer within %d seconds.", int(lookMost.Seconds())))
	}
}

func report(path string, verdict session.Workdir, detail string) session.WorkdirReport {
	if detail == "" {
		detail = verdict.Sentence()
	}
	return session.WorkdirReport{Verdict: verdict, Path: path, Detail: detail}
}

// expand writes a folder's path out, or says why it is none.
func expand(dir string) (string, error) {
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", session.Problemf(session.ErrInvalid, "The home folder of this runner is not known. Write the full path.")
		}
		return filepath.Join(home, dir[1:]), nil
	}
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", session.Problemf(session.ErrInvalid, "Write the full path of the folder, beginning with / or ~/.")
	}
	return filepath.Clean(dir), nil
}

// look decides on one folder, with the owner's sentence where the verdict's own
// does not say enough.
func look(path string, env []string) (session.Workdir, string) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return session.WorkdirMissing, ""
	case err != nil:
		return session.WorkdirUnverified, unseen(err)
	case !fi.IsDir():
		return session.WorkdirNotDir, ""
	}
	d, err := os.Open(path)
	if err != nil {
		return session.WorkdirUnverified, unseen(err)
	}
	defer d.Close()
	switch _, err := d.Readdirnames(1); {
	case errors.Is(err, io.EOF):
		return session.WorkdirEmpty, ""
	case err != nil:
		return session.WorkdirUnverified, unseen(err)
	}
	if _, err := os.Lstat(filepath.Join(path, ".")); err != nil {
		return session.WorkdirUnverified, unseen(err) // it may be listed and not entered
	}
	return lookGit(path, env)
}

// lookGit asks git itself, which knows of worktrees and subfolders.
func lookGit(path string, env []string) (session.Workdir, string) {
	git, ok := lookPath("git", path, env)
	if !ok {
		return session.WorkdirOK, "The folder is there and holds files; git is not installed on this machine, so nothing is said of a repository."
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "-C", path, "rev-parse", "--is-inside-work-tree")
	for _, v := range env {
		if !strings.HasPrefix(v, "GIT_") { // a GIT_DIR of ours says nothing of this folder
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil && strings.TrimSpace(string(out)) == "true":
		return session.WorkdirOK, ""
	case err == nil:
		return session.WorkdirUnverified, "This folder belongs to a git repository but is not its work tree."
	case strings.Contains(stderr.String(), "not a git repository"):
		return session.WorkdirNotGit, ""
	}
	if hasDotGit(path) { // as one that another user owns
		return session.WorkdirOK, ""
	}
	return session.WorkdirUnverified, "git could not say whether this folder is a repository: " + session.CleanDetail(stderr.String())
}

// hasDotGit reports whether the folder or one above it holds a .git.
func hasDotGit(path string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

func unseen(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Sprintf("The folder could not be looked at: %v.", err)
}
