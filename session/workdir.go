package session

// Workdir is what a runner found of a folder before a session starts in it.
type Workdir string

// The verdicts of contract §5.
const (
	WorkdirOK         Workdir = "ok"
	WorkdirMissing    Workdir = "missing"
	WorkdirNotDir     Workdir = "not-a-directory"
	WorkdirEmpty      Workdir = "empty" // no entry at all; .git is one
	WorkdirNotGit     Workdir = "not-a-git-repo"
	WorkdirUnverified Workdir = "unverified" // nobody could look; condemns nothing
)

// WorkdirReport is a verdict with its evidence.
type WorkdirReport struct {
	Verdict Workdir `json:"verdict"`
	Path    string  `json:"path"`   // absolute, as the runner resolved it
	Detail  string  `json:"detail"` // one sentence for the owner
}

// Refuses reports whether the verdict is a definite bad answer, which refuses a start.
func (w Workdir) Refuses() bool {
	switch w {
	case WorkdirMissing, WorkdirNotDir, WorkdirEmpty, WorkdirNotGit:
		return true
	}
	return false
}

// Overridable reports whether the owner may start in spite of the verdict.
// No engine can start in a folder that is not there.
func (w Workdir) Overridable() bool { return w == WorkdirNotGit || w == WorkdirEmpty }

// Sentence says the verdict to the owner, with what to do.
func (w Workdir) Sentence() string {
	switch w {
	case WorkdirOK:
		return "This folder is a git repository with files in it."
	case WorkdirMissing:
		return "This folder does not exist on that machine. Check the path."
	case WorkdirNotDir:
		return "This path is a file, not a folder. Choose the folder that holds it."
	case WorkdirEmpty:
		return "This folder is empty. Choose another, or start here on purpose."
	case WorkdirNotGit:
		return "This folder is not a git repository. Some engines refuse to run here; start anyway if you mean to."
	}
	return "The folder could not be checked. The session will start, and say so if the folder is wrong."
}
