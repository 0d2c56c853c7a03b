package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"signalbox/session"
)

func TestTheWorkdirIsLookedAtOnTheMachineItself(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	write := func(file string) {
		os.MkdirAll(filepath.Dir(file), 0o755)
		os.WriteFile(file, []byte("x"), 0o644)
	}
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	write(at("plain", "file"))
	write(at("repo", "sub", "file"))
	os.Mkdir(at("empty"), 0o755)
	git(at("repo"), "init", "-q")
	git(at("repo"), "add", ".")
	git(at("repo"), "commit", "-qm", "x")
	git(at("repo"), "worktree", "add", "-q", at("tree"))
	os.Mkdir(at("fresh"), 0o755)
	git(at("fresh"), "init", "-q")
	os.Symlink(at("repo"), at("link"))
	os.Symlink(at("nowhere"), at("dangling"))

	cases := []struct {
		dir  string
		want session.Workdir
		path string
	}{
		{at("repo"), session.WorkdirOK, at("repo")},
		{"~/repo", session.WorkdirOK, at("repo")},
		{at("repo", "sub"), session.WorkdirOK, at("repo", "sub")},
		{at("tree"), session.WorkdirOK, at("tree")},
		{at("link"), session.WorkdirOK, at("link")},
		{at("fresh"), session.WorkdirOK, at("fresh")}, // .git is an entry
		{at("empty"), session.WorkdirEmpty, at("empty")},
		{at("plain"), session.WorkdirNotGit, at("plain")},
		{"~", session.WorkdirNotGit, home},
		{at("plain", "file"), session.WorkdirNotDir, at("plain", "file")},
		{at("plain", "file", "x"), session.WorkdirMissing, at("plain", "file", "x")},
		{at("nowhere"), session.WorkdirMissing, at("nowhere")},
		{at("dangling"), session.WorkdirMissing, at("dangling")},
		{"repo", session.WorkdirMissing, "repo"},
		{"", session.WorkdirMissing, ""},
		{"~someone/repo", session.WorkdirMissing, "~someone/repo"},
	}
	for _, c := range cases {
		if got := CheckWorkdir(c.dir); got.Verdict != c.want || got.Path != c.path || got.Detail == "" {
			t.Errorf("%s: %+v, want %s of %s", c.dir, got, c.want, c.path)
		}
	}
	if got := checkWorkdir(at("plain"), []string{"PATH=/nonexistent"}); got.Verdict != session.WorkdirOK {
		t.Errorf("without git: %+v", got)
	}
	if got := checkWorkdir("relative", nil); got.Detail != "Write the full path of the folder, beginning with / or ~/." {
		t.Errorf("relative: %+v", got)
	}
	if os.Getuid() != 0 {
		os.Mkdir(at("closed"), 0o000)
		if got := CheckWorkdir(at("closed")); got.Verdict != session.WorkdirUnverified {
			t.Errorf("closed: %+v", got)
		}
	}
}
