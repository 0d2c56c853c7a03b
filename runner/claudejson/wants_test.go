package claudejson

// wants are what each recording says, read line by line against it.
var wants = map[string]string{
	"2.1.197/answer": `
ready
accepted m1
ready a7c2aa7a…
began 1
echoed m1 in 1
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00700
accepted m2
began 2
notice: HTTP 500: server_error, attempt 1 of 1
echoed m2 in 2
owner: error 500
error/done: API Error: 500 Internal server error. This is a server-side …
ended 2 failed 0+0 $0.00000: API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8970).`,
	"2.1.197/blocked": `
ready
accepted m1
ready c28f9908…
began 1
accepted m1 in 1
blocked in 1 [{feedback policy check: no secrets in prompts}]
ended 1 ok silent
accepted m2
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00700`,
	"2.1.197/edit": `
ready
accepted m1
ready bcdc4370…
began 1
echoed m1 in 1
owner: small edit
tool/running Read {"file_path": "/home/owner/demo/app.py"}
tool/done Read {"file_path": "/home/owner/demo/app.py"}: 1	def add(a, b):⏎2	    return a + b⏎3	
edit/running /home/owner/demo/app.py: +    # both are integers⏎     return a + b
asks approval "Edit /home/owner/demo/app.py?" "+    # both are integers⏎     return a + b" [Yes, this once|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"4175a49b-d1c3-435d-8b0d-ef1f82e0f…
edit/done /home/owner/demo/app.py: @@ -1,2 +1,3 @@⏎ def add(a, b):⏎+    # both are integers⏎   …
answer/done: app.py is edited.
ended 1 ok produced 3600+120 $0.02100
accepted m2
began 2
echoed m2 in 2
owner: rewrite the module
edit/running /home/owner/demo/steps.py: +def step_01(value):⏎+    """Apply step 1 to value."""⏎+    …
asks approval "Write /home/owner/demo/steps.py?" "+def step_01(value):⏎+    \"\"\"Apply step 1 to value.\"\"\"⏎+    return val…" [Yes, this once|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers No, and go on with the turn)
asks no more
> {"response":{"request_id":"817d82ee-0e8b-40e8-9fc5-013eaf277…
edit/declined /home/owner/demo/steps.py: +def step_01(value):⏎+    """Apply step 1 to value."""⏎+    …
answer/done: steps.py is written.
ended 2 ok produced 2400+80 $0.01400
accepted m3
began 3
echoed m3 in 3
owner: failing command
command/running touch f.txt; echo 'boom: schema missing' >&2; exit 3
asks approval "Run this command?" "touch f.txt; echo 'boom: schema missing' >&2; exit 3⏎⏎What for: Run th…" [Yes, this once|Yes, and do not ask again for: “touch f.txt” and “exit 3” (in this folder, from now on)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"8ee5c21b-0b69-43a4-b65d-45aa3e570…
command/failed code 3 touch f.txt; echo 'boom: schema missing' >&2; exit 3: boom: schema missing
answer/done: The migration failed: schema missing.
ended 3 ok produced 2400+80 $0.01400`,
	"2.1.197/helper": `
ready
accepted m1
ready 5dcf3058…
began 1
echoed m1 in 1
owner: start a helper
tool/running Agent: Check the loader
asks approval "Run this command, for a helper?" "touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo \"ch…" [Yes, this once|No, and go on with the turn|No, and end the turn]
(answers No, and go on with the turn)
asks no more
> {"response":{"request_id":"2af8f1f0-72ce-4000-92df-64192b180…
command/running touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; d…
command/declined touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; d…
tool/done Agent: Check the loader: Nothing to fix.
answer/done: The helper reported: nothing to fix.
ended 1 ok produced 2400+80 $0.02800
accepted m2
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00700
(started again)
ready 5dcf3058…
accepted m3
began 3
echoed m3 in 3
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00700`,
	"2.1.197/interrupt": `
ready
accepted m1
ready 8f62b306…
began 1
(steers m2)
(interrupts)
accepted m2
echoed m1 in 1
owner: count slowly
answer/done: Counting: 1 
ended 1 killed produced 1200+1 $0.00000
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00700`,
	"2.1.197/lost": `
lost its thread: No conversation found with session ID: 00000000-0000-4000-8000-000000000000`,
	"2.1.197/plan": `
ready
accepted m1
ready 04284eda…
began 1
echoed m1 in 1
owner: make a plan
edit/running /home/owner/.claude/plans/make-a-plan-zesty-lark.md: +# Stream the loader⏎+⏎+1. Read records one at a time.⏎+2. C…
edit/done /home/owner/.claude/plans/make-a-plan-zesty-lark.md: +# Stream the loader⏎+⏎+1. Read records one at a time.⏎+2. C…
plan/running Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
asks plan "Go on with this plan?" "# Stream the loader⏎⏎1. Read records one at a time.⏎2. Check each agai…" [Yes, go on with this plan|No, keep planning]
(answers No, keep planning)
asks no more
> {"response":{"request_id":"9095d8d9-11a7-427f-a3eb-f8551c6fd…
plan/declined Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
answer/done: The plan is approved; I would start with the loader.
ended 1 ok produced 3600+120 $0.02100`,
	"2.1.197/question": `
ready
accepted m1
ready bb5647d2…
began 1
echoed m1 in 1
owner: ask me
tool/running Question: Which database should the loader use? Which checks…
asks question "Which database should the loader use?" "Question 1 of 2⏎SQLite: One file, no server; enough for one machine.⏎P…" [SQLite|PostgreSQL|DuckDB|Skip: Claude goes on without an answer]
(answers SQLite)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[ ] Unit tests|[ ] Linter|Go on with none of these|Skip: Claude goes on without an answer]
(answers [ ] Unit tests)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[x] Unit tests|[ ] Linter|Go on with Unit tests|Skip: Claude goes on without an answer]
(answers [ ] Linter)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[x] Unit tests|[x] Linter|Go on with Unit tests, Linter|Skip: Claude goes on without an answer]
(answers Go on with Unit tests, Linter)
asks no more
> {"response":{"request_id":"13de03ec-b406-4ed0-a967-78bb02b5e…
tool/done Question: Which database should the loader use? Which checks…: Your questions have been answered: "Which database should th…
answer/done: Noted; I'll use your choice.
ended 1 ok produced 2400+80 $0.01400`,
	"2.1.197/queued": `
ready
accepted m1
ready edff0c25…
began 1
(steers m2)
(steers m3)
accepted m2
accepted m3
echoed m1 in 1
owner: count slowly
answer/done: Counting: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20…
ended 1 ok produced 1200+40 $0.00700
began 2
accepted m2 in 2
accepted m3 in 2
blocked in 2 [{feedback policy check: no secrets in prompts}]
ended 2 ok silent
accepted m4
began 3
echoed m4 in 3
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00700`,
	"2.1.197/slash": `
ready
accepted m1
ready c41dd641…
began 1
notice: Total cost:            $0.0000⏎Total duration (API):  0s⏎Tot…
echoed m1 in 1
owner: /cost
ended 1 ok 0+0 $0.00000
accepted m2
ready 8c0509fc…
began 2
echoed m2 in 2
owner: /clear
ended 2 ok 0+0 $0.00000
accepted m3
began 3
echoed m3 in 3
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00700`,
	"2.1.197/steer": `
ready
accepted m1
ready 3f8bd7b1…
began 1
echoed m1 in 1
owner: run two commands
command/running touch one.txt && ls -la
asks approval "Run this command?" "touch one.txt && ls -la⏎⏎What for: List the files⏎⏎Claude asks because…" [Yes, this once|Yes, and do not ask again for: “touch one.txt && ls -la” (in this folder, from now on)|Yes, and let it work in /home/owner/demo (in this session)|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(steers m2)
(steers m3)
(answers Yes, this once)
asks no more
> {"response":{"request_id":"2375a11a-92fa-4b4a-9c09-df3724b80…
accepted m2
accepted m3
command/done touch one.txt && ls -la: total 16⏎drwxr-xr-x 3 root root 4096 Nov 30 14:31 .⏎drwxr-xr…
echoed m2 in 1
owner: please BLOCKME now
echoed m3 in 1
owner: say hello
command/running touch two.txt && python3 --version
asks approval "Run this command?" "touch two.txt && python3 --version⏎⏎What for: Show the Python version⏎…" [Yes, this once|Yes, and do not ask again for: “touch two.txt && python3 --version” (in this folder, from now on)|Yes, and let it work in /home/owner/demo (in this session)|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"f359062a-fc4b-46e3-b222-3e8ba00c0…
command/done touch two.txt && python3 --version: Python 3.11.7
answer/done: Both commands ran.
ended 1 ok produced 3600+120 $0.02100`,
	"2.1.332/answer": `
ready
ready 3590c378…
accepted m1
began 1
echoed m1 in 1
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00560
accepted m2
began 2
echoed m2 in 2
owner: error 500
notice: HTTP 500: server_error, attempt 1 of 1
error/done: API Error: 500 Internal server error. This is a server-side …
ended 2 failed 0+0 $0.00000: API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8970).`,
	"2.1.332/blocked": `
ready
ready 0dd21c90…
accepted m1
began 1
accepted m1 in 1
blocked in 1 [{feedback policy check: no secrets in prompts}]
ended 1 ok silent
accepted m2
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"2.1.332/edit": `
ready
ready 68b706aa…
accepted m1
began 1
echoed m1 in 1
owner: small edit
tool/running Read {"file_path": "./app.py"}
tool/done Read {"file_path": "./app.py"}: 1	def add(a, b):⏎2	    return a + b⏎3	
edit/running ./app.py: +    # both are integers⏎     return a + b
asks approval "Edit /home/owner/demo/app.py?" "+    # both are integers⏎     return a + b" [Yes, this once|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"3d5e4595-6e77-4c52-8ba7-4d334d4f8…
edit/done ./app.py: @@ -1,2 +1,3 @@⏎ def add(a, b):⏎+    # both are integers⏎   …
answer/done: app.py is edited.
ended 1 ok produced 3600+120 $0.01680
accepted m2
began 2
echoed m2 in 2
owner: rewrite the module
edit/running ./steps.py: +def step_01(value):⏎+    """Apply step 1 to value."""⏎+    …
asks approval "Write /home/owner/demo/steps.py?" "+def step_01(value):⏎+    \"\"\"Apply step 1 to value.\"\"\"⏎+    return val…" [Yes, this once|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers No, and go on with the turn)
asks no more
> {"response":{"request_id":"707676a5-f012-4066-99c3-f354b136a…
edit/declined ./steps.py: +def step_01(value):⏎+    """Apply step 1 to value."""⏎+    …
answer/done: steps.py is written.
ended 2 ok produced 2400+80 $0.01120
accepted m3
began 3
echoed m3 in 3
owner: failing command
command/running touch f.txt; echo 'boom: schema missing' >&2; exit 3
asks approval "Run this command?" "touch f.txt; echo 'boom: schema missing' >&2; exit 3⏎⏎What for: Run th…" [Yes, this once|Yes, and do not ask again for: “touch f.txt” and “exit 3” (in this folder, from now on)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"224f768b-b589-4e12-aa57-bd079f386…
command/failed code 3 touch f.txt; echo 'boom: schema missing' >&2; exit 3: boom: schema missing
answer/done: The migration failed: schema missing.
ended 3 ok produced 2400+80 $0.01120`,
	"2.1.332/helper": `
ready
ready 5fa7668c…
accepted m1
began 1
echoed m1 in 1
owner: start a helper
tool/running Agent: Check the loader
tool/done Agent: Check the loader: It works in the background.
command/running touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; d…
asks approval "Run this command, for a helper?" "touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo \"ch…" [Yes, this once|No, and go on with the turn|No, and end the turn]
answer/done: The helper reported: nothing to fix.
ended 1 ok produced 2400+80 $0.01680
accepted m2
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560
asks no more
command/stopped touch h.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; d…
(started again)
notice between turns: Background agent "Check the loader" didn't finish before the…
ready 5fa7668c…
accepted m3
began 3
ended 3 ok silent
began 4
echoed m3 in 4
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 4 ok produced 1200+40 $0.00560`,
	"2.1.332/interrupt": `
ready
ready 782d5842…
accepted m1
began 1
echoed m1 in 1
owner: count slowly
(steers m2)
(interrupts)
accepted m2
answer/done: Counting: 1 
ended 1 killed produced 1200+1 $0.00488
began 2
echoed m2 in 2
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"2.1.332/lost": `
lost its thread: No conversation found with session ID: 00000000-0000-4000-8000-000000000000`,
	"2.1.332/plan": `
ready
ready 426480b3…
accepted m1
began 1
echoed m1 in 1
owner: make a plan
edit/running /home/owner/.claude/plans/make-a-plan-generic-valiant.md: +# Stream the loader⏎+⏎+1. Read records one at a time.⏎+2. C…
edit/done /home/owner/.claude/plans/make-a-plan-generic-valiant.md: +# Stream the loader⏎+⏎+1. Read records one at a time.⏎+2. C…
plan/running Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
asks plan "Go on with this plan?" "# Stream the loader⏎⏎1. Read records one at a time.⏎2. Check each agai…" [Yes, go on with this plan|No, keep planning]
(answers No, keep planning)
asks no more
> {"response":{"request_id":"720bb19b-bccd-4e08-9f29-560acedcf…
plan/declined Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
answer/done: The plan is approved; I would start with the loader.
ended 1 ok produced 3600+120 $0.01680`,
	"2.1.332/question": `
ready
ready 1fbdc435…
accepted m1
began 1
echoed m1 in 1
owner: ask me
tool/running Question: Which database should the loader use? Which checks…
asks question "Which database should the loader use?" "Question 1 of 2⏎SQLite: One file, no server; enough for one machine.⏎P…" [SQLite|PostgreSQL|DuckDB|Skip: Claude goes on without an answer]
(answers SQLite)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[ ] Unit tests|[ ] Linter|Go on with none of these|Skip: Claude goes on without an answer]
(answers [ ] Unit tests)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[x] Unit tests|[ ] Linter|Go on with Unit tests|Skip: Claude goes on without an answer]
(answers [ ] Linter)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[x] Unit tests|[x] Linter|Go on with Unit tests, Linter|Skip: Claude goes on without an answer]
(answers Go on with Unit tests, Linter)
asks no more
> {"response":{"request_id":"f0756be1-88d0-4316-91d2-77286d416…
tool/done Question: Which database should the loader use? Which checks…: Your questions have been answered: "Which database should th…
answer/done: Noted; I'll use your choice.
ended 1 ok produced 2400+80 $0.01120`,
	"2.1.332/queued": `
ready
ready 10fae35f…
accepted m1
began 1
echoed m1 in 1
owner: count slowly
(steers m2)
(steers m3)
accepted m2
accepted m3
answer/done: Counting: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20…
ended 1 ok produced 1200+40 $0.00560
began 2
accepted m2 in 2
accepted m3 in 2
blocked in 2 [{feedback policy check: no secrets in prompts}]
ended 2 ok silent
accepted m4
began 3
echoed m4 in 3
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00560`,
	"2.1.332/slash": `
ready
ready ea3367da…
accepted m1
began 1
notice: Estimated cost:        $0.0000⏎Total duration (API):  0s⏎Tot…
echoed m1 in 1
owner: /cost
ended 1 ok 0+0 $0.00000
accepted m2
ready c39004bd…
began 2
echoed m2 in 2
owner: /clear
ended 2 ok 0+0 $0.00000
accepted m3
began 3
echoed m3 in 3
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00560`,
	"2.1.332/steer": `
ready
ready e56033da…
accepted m1
began 1
echoed m1 in 1
owner: run two commands
command/running touch one.txt && ls -la
asks approval "Run this command?" "touch one.txt && ls -la⏎⏎What for: List the files⏎⏎Claude asks because…" [Yes, this once|Yes, and do not ask again for: “touch one.txt && ls -la” (in this folder, from now on)|Yes, and let it work in /home/owner/demo (in this session)|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(steers m2)
(steers m3)
(answers Yes, this once)
asks no more
> {"response":{"request_id":"f1ddfd86-8127-41e6-90e8-d036a241b…
accepted m2
accepted m3
command/done touch one.txt && ls -la: total 16⏎drwxr-xr-x 3 root root 4096 Nov 30 14:30 .⏎drwxr-xr…
accepted m2 in 1
blocked in 1 [{feedback policy check: no secrets in prompts}]
echoed m3 in 1
owner: say hello
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 2400+80 $0.01120`,
	"one-shot/failed_command": `
ready
ready f97aae84…
began 1
command/running touch f.txt; echo 'boom: schema missing' >&2; exit 3
command/failed code 3 touch f.txt; echo 'boom: schema missing' >&2; exit 3: boom: schema missing
answer/done: The migration failed: schema missing.
ended 1 ok produced 2400+80 $0.01120`,
	"one-shot/hook_blocked_events": `
ready
ready 15feb4ed…
began 1
accepted m1 in 1
blocked in 1 [{feedback policy check: no secrets in prompts}]
ended 1 ok silent`,
	"one-shot/hook_blocked_json": `
ready
ready ad0ef697…
began 1
accepted m1 in 1
blocked in 1 [{feedback policy check: no secrets in prompts}]
ended 1 ok silent`,
	"one-shot/hook_continue_false": `
ready
ready 5fac2b9f…
began 1
accepted m1 in 1
blocked in 1 [{stop stopped by policy}]
ended 1 ok silent`,
	"one-shot/http_429": `
ready
ready 25f57db9…
began 1
notice: HTTP 429: rate_limit, attempt 1 of 1
error/done: API Error: Request rejected (429) · This request would excee…
ended 1 failed 0+0 $0.00000: API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.`,
	"one-shot/max_turns": `
ready
ready 17252924…
began 1
command/running touch one.txt && ls -la
command/done touch one.txt && ls -la: total 28⏎drwxr-xr-x 3 root root 4096 Nov 30 08:46 .⏎drwxr-xr…
ended 1 failed 1200+40 $0.00560: Reached maximum number of turns (1)`,
	"one-shot/sigterm": `
ready
ready ae0a83ca…
began 1`,
	"without-echoes/api_error": `
ready
ready ab8f9ee4…
began 1
notice: HTTP 401: authentication_failed, attempt 1 of 1
error/done: Invalid API key · Fix external API key
ended 1 failed 0+0 $0.00000: Invalid API key · Fix external API key
began 2
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"without-echoes/api_error_last": `
ready
ready 51848ffa…
began 1
notice: HTTP 401: authentication_failed, attempt 1 of 1
error/done: Invalid API key · Fix external API key
ended 1 failed 0+0 $0.00000: Invalid API key · Fix external API key`,
	"without-echoes/background": `
ready
ready bcabd8fd…
began 1
command/running sleep 90; echo built
command/done sleep 90; echo built: Command running in background with ID: b7viwkgqo. Output is …
answer/done: The build is running in the background.
ended 1 ok produced 2400+80 $0.01120`,
	"without-echoes/eof_working": `
ready
ready 9dee3f1e…
began 1
answer/done: I have thought about it: the loader should stream.
ended 1 ok produced 1200+40 $0.00560`,
	"without-echoes/hook_blocked": `
ready
ready 77682633…
began 1
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00560
began 2
accepted m2 in 2
blocked in 2 [{feedback policy check: no secrets in prompts}]
ended 2 ok silent
began 3
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00560`,
	"without-echoes/hook_blocked_steer": `
ready
ready 52297f25…
began 1
(steers m2)
answer/done: I have thought about it: the loader should stream.
ended 1 ok produced 1200+40 $0.00560
began 2
accepted m2 in 2
blocked in 2 [{feedback policy check: no secrets in prompts}]
ended 2 ok silent
began 3
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 3 ok produced 1200+40 $0.00560`,
	"without-echoes/initialize": `
ready 0f493157…
began 1
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00560`,
	"without-echoes/interrupt": `
ready
ready 32b651c8…
began 1
(interrupts)
ended 1 killed 0+0 $0.00482
began 2
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"without-echoes/permission_allow": `
ready
ready d03150d3…
began 1
answer/done: I'll run the tests first.
command/running touch ran.txt && python3 -m unittest -v
asks approval "Run this command?" "touch ran.txt && python3 -m unittest -v⏎⏎What for: Run the unit tests" [Yes, this once|Yes, and do not ask again for: “touch ran.txt” and “python3 -m unittest -v” (in this folder, from now on)|No, and go on with the turn|No, and end the turn]
(answers Yes, this once)
asks no more
> {"response":{"request_id":"2eb6c62a-923e-4084-9a5d-26ac0011c…
command/done touch ran.txt && python3 -m unittest -v: test_negative (test_app.AddTest.test_negative) ... ok⏎test_s…
answer/done: All 3 tests pass.
ended 1 ok produced 2400+80 $0.01120`,
	"without-echoes/permission_deny": `
ready
ready 52188f2e…
began 1
answer/done: I'll run the tests first.
command/running touch ran.txt && python3 -m unittest -v
asks approval "Run this command?" "touch ran.txt && python3 -m unittest -v⏎⏎What for: Run the unit tests" [Yes, this once|Yes, and do not ask again for: “touch ran.txt” and “python3 -m unittest -v” (in this folder, from now on)|No, and go on with the turn|No, and end the turn]
(answers No, and go on with the turn)
asks no more
> {"response":{"request_id":"6b9342db-34c8-4cff-93eb-1cf6d18b9…
command/declined touch ran.txt && python3 -m unittest -v
answer/done: All 3 tests pass.
ended 1 ok produced 2400+80 $0.01120
began 2
command/running touch one.txt && ls -la
asks approval "Run this command?" "touch one.txt && ls -la⏎⏎What for: List the files⏎⏎Claude asks because…" [Yes, this once|Yes, and do not ask again for: “touch one.txt && ls -la” (in this folder, from now on)|Yes, and let it work in /home/owner/demo-shop01 (in this session)|Yes, and stop asking about edits (in this session)|No, and go on with the turn|No, and end the turn]
(answers No, and end the turn)
asks no more
> {"response":{"request_id":"3b3e2839-8e3f-4b92-a2b9-573074d5d…
command/declined touch one.txt && ls -la
ended 2 killed by interrupt 1200+40 $0.00560`,
	"without-echoes/permission_interrupt": `
ready
ready 73dc8d0a…
began 1
answer/done: I'll run the tests first.
command/running touch ran.txt && python3 -m unittest -v
asks approval "Run this command?" "touch ran.txt && python3 -m unittest -v⏎⏎What for: Run the unit tests" [Yes, this once|Yes, and do not ask again for: “touch ran.txt” and “python3 -m unittest -v” (in this folder, from now on)|No, and go on with the turn|No, and end the turn]
(interrupts)
asks no more
command/declined touch ran.txt && python3 -m unittest -v
ended 1 killed produced 1200+40 $0.00560
began 2
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"without-echoes/plan": `
ready
ready 172b83f6…
began 1
plan/running Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
asks plan "Go on with this plan?" "# Stream the loader⏎⏎1. Read records one at a time.⏎2. Check each agai…" [Yes, go on with this plan|No, keep planning]
(answers Yes, go on with this plan)
asks no more
> {"response":{"request_id":"eeb45582-a759-4bf2-b477-fb982f1f3…
plan/done Plan: # Stream the loader⏎⏎1. Read records one at a time.⏎2. Check…
answer/done: The plan is approved; I would start with the loader.
ended 1 ok produced 2400+80 $0.01120`,
	"without-echoes/question": `
ready
ready 636c5ae9…
began 1
tool/running Question: Which database should the loader use? Which checks…
asks question "Which database should the loader use?" "Question 1 of 2⏎SQLite: One file, no server; enough for one machine.⏎P…" [SQLite|PostgreSQL|DuckDB|Skip: Claude goes on without an answer]
(answers SQLite)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[ ] Unit tests|[ ] Linter|Go on with none of these|Skip: Claude goes on without an answer]
(answers [ ] Unit tests)
asks no more
asks question "Which checks should run on every push?" "Question 2 of 2⏎Unit tests: Under a minute.⏎Linter: Style and simple m…" [[x] Unit tests|[ ] Linter|Go on with Unit tests|Skip: Claude goes on without an answer]
(answers Go on with Unit tests)
asks no more
> {"response":{"request_id":"8a2dbf1f-a741-40d7-865e-05a703653…
tool/done Question: Which database should the loader use? Which checks…: Your questions have been answered: "Which database should th…
answer/done: Noted; I'll use your choice.
ended 1 ok produced 2400+80 $0.01120`,
	"without-echoes/queued": `
ready
ready f7a12e52…
began 1
(steers m2)
answer/done: I have thought about it: the loader should stream.
ended 1 ok produced 1200+40 $0.00560
began 2
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
	"without-echoes/sigterm_idle": `
ready
ready fbb38084…
began 1
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00560`,
	"without-echoes/sigterm_working": `
ready
ready 5d8683b2…
began 1`,
	"without-echoes/two_turns": `
ready
ready c2f085e6…
began 1
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 1 ok produced 1200+40 $0.00560
began 2
answer/done: Hello. The demo repository has one module, app.py, and its t…
ended 2 ok produced 1200+40 $0.00560`,
}
