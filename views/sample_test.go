package views_test

import (
	"github.com/a-h/templ"

	"signalbox/static"
	"signalbox/views"
	"signalbox/web/pane"
)

// The pages below hold believable data, which the tests read.

func page(title, nav, live string) views.Page {
	return views.Page{
		Title: title, Nav: nav, Live: live, SignedIn: true,
		Assets: views.Assets{
			CSS: static.Asset("app.css"), Live: static.Asset("live.js"),
			Morph: static.Asset("idiomorph.js"), Icon: static.Asset("icon.svg"),
		},
	}
}

func age(words string) views.Time {
	return views.Time{ISO: "2026-08-12T22:40:52Z", Words: words, Full: "12 August 2026, 22:40:52"}
}

var rows = []views.Row{
	{ID: "s_1", Href: "/sessions/s_1", Title: "Move the importer to streaming", State: views.State{Headline: "needs-you", Words: "Needs you"},
		Line: "Do you want to run “rm -rf build && make”?", Where: "importer · Claude Code · mac-mini", Age: age("now"), Status: "waiting_user_answer"},
	{ID: "s_2", Href: "/sessions/s_2", Title: "Fix flaky store tests", State: views.State{Headline: "working", Words: "Working · 2 m"},
		Line: "Running go test ./store -count=50", Run: "Run, step 3: make the store tests pass a hundred times", Where: "signalbox · Codex · mac-mini", Age: age("now"), Status: "processing"},
	{ID: "s_3", Href: "/sessions/s_3", Title: "Summarise the notes", State: views.State{Headline: "failed", Words: "Failed"},
		Line: "The engine exited with code 1 on its last turn", Where: "notes · Codex · mac-mini", Age: age("4 m"), Status: "completed", Failures: 1, Current: true},
	{ID: "s_4", Href: "/sessions/s_4", Title: "Write release notes for 0.3", State: views.State{Headline: "done", Words: "Done"},
		Line: "The notes are in CHANGELOG.md. I left the date open.", Where: "signalbox · Claude Code · build-box", Age: age("1 h"), Status: "completed"},
	{ID: "s_5", Href: "/sessions/s_5", Title: "Try the new parser", State: views.State{Headline: "ready", Words: "Ready"},
		Line: "Nothing has been sent yet", Where: "parser · Gemini · mac-mini", Age: age("3 h"), Status: "idle"},
	{ID: "s_6", Href: "/sessions/s_6", Title: "Nightly dependency review with a title that is much too long for any phone", State: views.State{Headline: "offline", Words: "Offline · seen 10:42"},
		Line: "laptop is not connected", Where: "infra · OpenCode · laptop", Age: age("9 h"), Status: "unknown"},
	{ID: "s_7", Href: "/sessions/s_7", Title: "Rename the packages", State: views.State{Headline: "ended", Words: "Ended"}, Where: "signalbox · Codex · mac-mini", Age: age("2 d"), Status: "error", Archive: "1", ArchiveVerb: "Archive"},
	{ID: "s_8", Href: "/sessions/s_8", Title: "Pushed by a script", State: views.State{Headline: "unknown", Words: "Unknown"}, Line: "No status has been reported", Where: "external", Age: age("6 d"), Status: "unknown"},
}

func listPage() views.SessionList {
	return views.SessionList{
		Page: page("Sessions", "sessions", "/live"), Sentence: "One session needs you. One failed.",
		List:    views.List{Rows: rows, Older: "/?page=2", Place: "1–50 of 61"},
		Filters: []views.Filter{{Href: "/", Words: "All", Count: 61, Current: true}, {Href: "/?headline=needs-you", Words: "Needs you", Headline: "needs-you", Count: 1}, {Href: "/?headline=working", Words: "Working", Headline: "working", Count: 1}, {Href: "/?headline=failed", Words: "Failed", Headline: "failed", Count: 1}, {Href: "/?headline=done", Words: "Done", Headline: "done", Count: 58}},
	}
}

func emptyListPage() views.SessionList {
	v := listPage()
	v.Sentence, v.Filters = "No sessions yet", v.Filters[:1]
	v.List = views.List{Empty: &views.Empty{Title: "Start the first one", Words: "A session is one conversation with a coding agent in one folder. Choose a machine, a folder and an engine, and give it something to do.", Href: "/sessions/new", Verb: "New session"}}
	return v
}

func coding(id, title string, state views.State, line string) views.Coding {
	return views.Coding{
		Page: page(title, "sessions", "/sessions/"+id+"/live"), ID: id, Title: title,
		List: views.List{Rows: rows}, State: state, Line: line, Status: "idle", CanStop: true,
		Where:    "notes · Codex · mac-mini",
		Composer: views.Composer{Key: "k_1", Hint: "Goes out at once: the engine is free.", Placeholder: "Instruction for Codex"},
	}
}

const transcript = "\x1b[2m❯ [22:40:51]\x1b[0m Summarise the notes in this folder in five lines and put the result in SUMMARY.md\n" +
	"Not inside a trusted directory and --skip-git-repo-check was not specified.\n\x1b[31m[codex exited with code 1]\x1b[0m\n"

func failedPage() views.Coding {
	v := coding("s_3", "Summarise the notes", views.State{Headline: "failed", Words: "Failed"}, "Ready · last turn failed")
	v.Status, v.Reason = "completed", "The engine exited with code 1 on its last turn"
	v.Banner = &views.Banner{
		Heading: "The engine exited with code 1 on its last turn", Words: "That is the engine refusing to run, not an answer to your instruction.",
		Detail: "Not inside a trusted directory and --skip-git-repo-check was not specified.", Verdict: "failed", ExitCode: "1", Failures: 1,
	}
	v.Pane = views.Pane{HTML: pane.HTML(transcript, true), Seq: 42}
	v.Messages = views.MessageList{Now: []views.Message{{ID: "m_1", State: "delivered", Words: "Delivered · its turn failed", Text: "Summarise the notes in this folder in five lines and put the result in SUMMARY.md", At: age("22:40")}}}
	v.Turns = []views.Turn{{State: views.State{Headline: "failed", Words: "Failed"}, Words: "code 1 after 0.4 s", At: age("22:40")}}
	return v
}

const screen = "\x1b[38;2;215;119;87m✻\x1b[39m Welcome to \x1b[1mClaude Code\x1b[22m\n\n" +
	"\x1b[2m> \x1b[22mfind out why TestSnapshotOrder is flaky and fix it\n\n" +
	"\x1b[32m⏺\x1b[39m I’ll run the test many times first.\n\n" +
	"\x1b[32m⏺\x1b[39m \x1b[1mBash\x1b[22m(go test ./store -run TestSnapshotOrder -count=50)\n" +
	"  \x1b[90m⎿\x1b[39m  \x1b[31m--- FAIL: TestSnapshotOrder (0.02s)\x1b[39m\n" +
	"     \x1b[90m… +31 lines (ctrl+o to expand)\x1b[39m\n\n" +
	"\x1b[32m⏺\x1b[39m \x1b[1mUpdate\x1b[22m(store/snapshot.go)\n" +
	"  \x1b[90m⎿\x1b[39m  Updated \x1b[1mstore/snapshot.go\x1b[22m with \x1b[1m1\x1b[22m addition and \x1b[1m1\x1b[22m removal\n" +
	"       \x1b[90m41\x1b[39m    \x1b[34mfunc\x1b[39m (s *Store) SaveSnapshot(ctx context.Context, snap session.Snapshot)\n" +
	"       \x1b[48;2;74;34;34m42 -  if snap.Seq < last { return false, nil }                    \x1b[49m\n" +
	"       \x1b[48;2;34;74;43m42 +  if snap.Seq <= last { return false, nil }                   \x1b[49m\n\n" +
	"\x1b[38;5;174m✢ Simmering…\x1b[39m \x1b[90m(1m 52s · ↓ 3.1k tokens · esc to interrupt)\x1b[39m\n\n" +
	"╭──────────────────────────────────────────────────────────────────────╮\n│ >                                                                    │\n╰──────────────────────────────────────────────────────────────────────╯\n" +
	"  \x1b[7m INSERT \x1b[27m \x1b[33m? for shortcuts\x1b[39m  \x1b[35mmagenta\x1b[39m \x1b[36mcyan\x1b[39m a\u202eb\n"

func workingPage() views.Coding {
	v := coding("s_2", "Fix flaky store tests", views.State{Headline: "working", Words: "Working · 2 m"}, "Working · 2 m")
	v.Status, v.CanInterrupt = "processing", true
	v.Where = "signalbox · Claude Code · mac-mini"
	v.Pane = views.Pane{HTML: pane.HTML(screen, true), Seq: 311}
	v.Composer.Placeholder = "Instruction for Claude Code"
	v.Composer.Hint, v.Composer.Preempt = "Goes out when the engine is free.", "Stop this turn and send now"
	v.Messages = views.MessageList{
		Earlier: []views.Message{{ID: "m_4", State: "answered", Words: "Answered", Text: "what does this package do?", At: age("10:02")}},
		Now: []views.Message{
			{ID: "m_5", State: "delivered", Words: "Delivered", Text: "find out why TestSnapshotOrder is flaky and fix it", At: age("10:40")},
			{ID: "m_6", State: "queued", Words: "Queued", Text: "then run the whole suite with -race", Reason: "Goes out after this turn.", At: age("10:41"), CanEdit: true},
		},
	}
	v.Turns = []views.Turn{
		{State: views.State{Headline: "working", Words: "Working"}, Words: "find out why TestSnapshotOrder…", At: age("10:40")},
		{State: views.State{Headline: "done", Words: "Done"}, Words: "what does this package do?", At: age("10:02")},
	}
	return v
}

func needsYouPage() views.Coding {
	v := coding("s_1", "Move the importer to streaming", views.State{Headline: "needs-you", Words: "Needs you"}, "Needs you")
	v.Status, v.CanInterrupt, v.Where = "waiting_user_answer", true, "importer · Claude Code · mac-mini"
	v.Prompt = &views.Prompt{
		ID: "p_9f2c", Kind: "approval", Title: "Do you want to proceed?", Body: "rm -rf build && make -j2 all\n\nRebuild from scratch",
		Options: []views.Option{
			{Name: "yes", Label: "Yes"},
			{Name: "always", Label: "Yes, and don’t ask again for make commands in ~/code/importer", Lasting: "This also allows it from now on."},
			{Name: "no", Label: "No, and tell Claude what to do differently"},
		},
	}
	v.Pane = views.Pane{HTML: pane.HTML(screen, true), Seq: 97}
	v.Composer.Hint = "The engine waits for an answer: it will be sent after that."
	return v
}

func heldPage() views.Coding {
	v := needsYouPage()
	v.Prompt.Elided, v.Prompt.GoOn, v.Prompt.FreeText = "12 lines are hidden by the engine.", "?anyway=p_9f2c", true
	v.Prompt.Options[0].Held, v.Prompt.Options[1].Held = true, true
	return v
}

func nothingSentPage() views.Coding {
	v := coding("s_5", "Try the new parser", views.State{Headline: "ready", Words: "Ready"}, "Ready")
	v.Placeholder = &views.Placeholder{Cause: "nothing-sent", Words: "No output yet: nothing has been sent.", Do: "Write the first instruction below."}
	return v
}

func offlinePage() views.Coding {
	v := workingPage()
	v.ID, v.Title, v.State, v.Line = "s_6", "Nightly dependency review", views.State{Headline: "offline", Words: "Offline · seen 10:42"}, "Offline · seen 10:42"
	v.CanInterrupt, v.CanStop, v.Status = false, false, "unknown"
	v.Notice = "The runner is offline. What you see is from 10:42."
	v.Composer.Hint, v.Composer.Preempt = "Goes out when laptop is connected again.", ""
	return v
}

func newPage() views.NewSession {
	return views.NewSession{
		Page:    page("New session", "sessions", ""),
		Runners: []views.Choice{{Value: "mac-mini", Words: "mac-mini", Selected: true}, {Value: "laptop", Words: "laptop (offline, seen 10:42)", Disabled: true}},
		Engines: []views.Choice{{Value: "codex", Words: "Codex 0.42.0", Selected: true}, {Value: "claude", Words: "Claude Code 2.1.9"}, {Value: "gemini", Words: "Gemini: not found on this machine", Disabled: true}, {Value: "custom", Words: "Your own command"}},
		Trusts:  []views.Choice{{Value: "read", Words: "Read: look, change nothing"}, {Value: "edit", Words: "Edit: change this folder", Selected: true}, {Value: "full", Words: "Full: change anything"}},
		Dir:     "~/notes", Instruction: "Summarise the notes in this folder",
		TrustNote: "Codex cannot ask you in this mode, so “Ask” is not offered.",
		Workdir:   &views.Workdir{Verdict: "not-a-git-repo", Words: "This folder is not in a git repository. Codex refuses to run in such a folder. Run “git init” there, or choose another folder.", CanOverride: true},
		Runtimes:  []views.Choice{{Value: "child-process", Words: "One process a turn", Selected: true}},
	}
}

func newErrorPage() views.NewSession {
	v := newPage()
	v.Error = &views.Problem{Title: "The session was not started: this folder is not in a git repository.", Words: "Nothing was changed. Choose another folder, or tick “Start here anyway”.", Field: "dir"}
	return v
}

func historyPage() views.History {
	event := func(words, headline, line string) views.Event {
		return views.Event{Href: "?at=64", At: age("22:40"), State: views.State{Headline: headline, Words: words}, Line: line}
	}
	v := views.History{
		Page: page("History · Summarise the notes", "sessions", ""), ID: "s_3", Title: "Summarise the notes", Where: "notes · Codex · mac-mini",
		Sentence: "64 screens since 09:12, 120 KiB.", Shown: views.Pane{HTML: pane.HTML(screen, true), Seq: 42},
		Scrubber: views.Scrubber{At: 62, Min: 1, Max: 64, Prev: "?at=61", Next: "?at=63", Words: "62 of 64 · 22:40:52"},
		ShownAs:  views.Moment{State: views.State{Headline: "working", Words: "Working"}, Href: "?at=62"}, Cast: "history.cast", Text: "history.txt",
		Wrong: views.Wrong{Session: "s_3", Moment: "62"},
		Query: "flaky", Found: []views.Moment{{Href: "?at=3", At: age("22:39"), Line: "find out why TestSnapshotOrder is flaky"}},
		Timeline: views.TimeChart{
			Lanes: []views.Lane{
				{State: views.State{Headline: "needs-you", Words: "Needs you"}, Bars: []views.Bar{{X: "40.00%", Width: "20.00%", Title: "Needs you, 10:42 to 10:51"}}},
				{State: views.State{Headline: "working", Words: "Working"}, Bars: []views.Bar{{X: "10.00%", Width: "30.00%"}, {X: "60.00%", Width: "12.00%"}}},
				{State: views.State{Headline: "done", Words: "Done"}, Bars: []views.Bar{{X: "72.00%", Width: "28.00%"}}},
			},
			Ticks: []views.Tick{{X: "72.00%", Headline: "done", Title: "Turn done at 10:53"}}, At: "65.00%", Start: "09:12", End: "11:02",
			Label: "From 09:12 to 11:02: needs you 9 m, working 20 m, done 30 m.",
		},
	}
	v.Events = []views.Event{
		event("Done", "done", ""), event("Turn done", "done", "after 12 m"), event("Answered", "ready", "“Yes” to “Do you want to proceed?”, by you (Safari on iPhone)"),
		event("Needs you", "needs-you", "Do you want to proceed?"), event("Working", "working", ""),
	}
	v.Away = &views.Away{Since: age("10:02"), Sentence: "1 turn done, 1 question answered from here.", Events: v.Events[:3]}
	return v
}

func casesPage() views.Cases {
	return views.Cases{Page: page("Screens that were read wrong", "settings", ""), Items: []views.Case{
		{ID: "case_1", At: age("now"), Words: "Codex was read as “Working”; it was “Ready”", Title: "Its session", Href: "/sessions/s_3", Rule: "codex-spinner", PaneHTML: pane.HTML(screen, true), Here: true},
		{ID: "case_2", At: age("2 d"), Words: "Gemini CLI was read as “Unknown”; it was “Waiting for me”", Title: "Its session", Href: "/sessions/s_5", Rule: "nothing", Note: "By itself this screen is read as “Ready”.", PaneHTML: pane.HTML(screen, true)},
	}}
}

func runnersPage() views.Runners {
	return views.Runners{
		Page: page("Runners", "runners", "/runners/live"), Sentence: "Two machines, one connected.",
		Rows: []views.Runner{
			{ID: "r_1", Name: "mac-mini", Connected: true, Words: "Connected", Facts: "macOS 15.5 · arm64 · signalbox 0.3.1", Engines: []views.Engine{
				{Name: "Codex", Version: "0.42.0", Found: true, Trusts: "Read, Edit, Full"},
				{Name: "Claude Code", Version: "2.1.9", Found: true, Trusts: "Read, Edit, Full, Ask", Note: "Not logged in: run “claude” there once."},
				{Name: "Gemini", Version: "not found on this machine"},
			}},
			{ID: "r_2", Name: "laptop", Words: "Last seen 10:42", Facts: "Debian 13 · amd64 · signalbox 0.3.0", Note: "tmux is missing: install it with “apt install tmux”.", Engines: []views.Engine{{Name: "OpenCode", Version: "1.0.3", Found: true, Trusts: "Edit, Full"}}},
		},
		Connect: views.Connect{Command: "console runner --server https://signalbox.example.ts.net --token TOKEN --name laptop", Install: "curl", System: "linux, amd64"},
	}
}

func settingsPage() views.Settings {
	return views.Settings{
		Page: page("Settings", "settings", ""), NewToken: "sbx_7f3a0d41c9e84e0f9a5b2c6d",
		Facts:    []views.Fact{{Name: "Version", Value: "0.3.1"}, {Name: "Address", Value: "http://127.0.0.1:7878"}, {Name: "Database", Value: "/Users/ada/Library/Application Support/signalbox/console.db, 12 MB"}},
		Kinds:    []views.Choice{{Value: "owner", Words: "Everything"}, {Value: "runner", Words: "A machine", Selected: true}, {Value: "push", Words: "Pushing to external sessions"}},
		Tokens:   []views.Token{{Name: "laptop", Kind: "A machine", Created: age("12 Aug"), Used: age("5 m")}, {Name: "ci", Kind: "Pushing to external sessions", Created: age("3 Aug")}},
		Browsers: []views.Browser{{ID: "b_1", Name: "Safari on iPhone", Here: true, Since: age("12 Aug")}, {ID: "b_2", Name: "Firefox on Linux", Since: age("1 Aug"), Seen: age("2 d")}},
	}
}

func loginPage() views.Login {
	p := page("Sign in", "", "")
	p.SignedIn = false
	return views.Login{Page: p, Error: &views.Problem{Title: "This link was used already, or is older than ten minutes.", Words: "Run “console login” again for a new one."}}
}

func errorPage() views.Failure {
	return views.Failure{Page: page("Not found", "", ""), Problem: views.Problem{Title: "There is no such session", Words: "Nothing was changed. It may have been removed, or the address is wrong."}, Href: "/", Verb: "Back to the sessions"}
}

func samples() map[string]templ.Component {
	return map[string]templ.Component{
		"list": views.Sessions(listPage()), "list-empty": views.Sessions(emptyListPage()),
		"failed": views.Session(failedPage()), "working": views.Session(workingPage()), "needs-you": views.Session(needsYouPage()), "held": views.Session(heldPage()),
		"nothing-sent": views.Session(nothingSentPage()), "offline": views.Session(offlinePage()),
		"new": views.New(newPage()), "new-error": views.New(newErrorPage()), "history": views.Past(historyPage()), "cases": views.CasesPage(casesPage()), "cases-none": views.CasesPage(views.Cases{Page: page("Screens that were read wrong", "settings", "")}), "runners": views.Machines(runnersPage()),
		"settings": views.Preferences(settingsPage()), "login": views.SignIn(loginPage()), "error": views.ErrorPage(errorPage()),
	}
}
