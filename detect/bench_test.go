package detect

import (
	"strings"
	"testing"

	"signalbox/session"
)

var (
	sink    int
	reading session.Reading
)

// floor passes over the bytes once, counting line ends: the least that reading
// a pane can cost.
func floor(pane string) int {
	n := 0
	for i := 0; i < len(pane); i++ {
		if pane[i] == '\n' {
			n++
		}
	}
	return n
}

func benchPanes() []struct{ name, file string } {
	return []struct{ name, file string }{
		{"codex-done", "codex/0.171.0/completed_long_answer_b.80x24"},
		{"codex-asks", "codex/0.171.0/approval_command_b.80x24"},
		{"codex-works", "codex/0.171.0/working_model_b.80x24"},
		{"claude-done", "claude/2.1.332/completed_short.80x24"},
		{"claude-asks", "claude/2.1.332/approval_command.80x24"},
		{"gemini-asks", "gemini/0.61.0/approval_command.80x24"},
		{"opencode-done", "opencode/1.18.33/completed_short.80x24"},
		{"copilot-asks", "copilot/1.0.102/approval_command.80x24"},
		{"copilot-tall", "copilot/1.0.102/approval_tall_command.80x24"},
		{"gemini-tall", "gemini/0.61.0/approval_tall_command.80x24"},
		{"qwen-asks", "qwen/0.24.4/approval_command.80x24"},
	}
}

// BenchmarkRead reads a recorded 80x24 pane, as plain text and with SGR, beside
// its floor.
func BenchmarkRead(b *testing.B) {
	for _, p := range benchPanes() {
		c, err := readPane(panesDir + "/" + p.file + ".pane")
		if err != nil {
			b.Fatal(err)
		}
		text := c.in
		text.Pane, text.Format = plainText(c.in.Pane), session.Plain
		for kind, in := range map[string]Input{"sgr": c.in, "plain": text} {
			b.Run(p.name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(in.Pane)))
				for b.Loop() {
					reading = Read(in)
				}
			})
			b.Run(p.name+"/"+kind+"-floor", func(b *testing.B) {
				b.SetBytes(int64(len(in.Pane)))
				for b.Loop() {
					sink += floor(in.Pane)
				}
			})
		}
	}
}

// BenchmarkScrollback reads the same screen under 1 MiB of scrollback.
func BenchmarkScrollback(b *testing.B) {
	c, err := readPane(panesDir + "/codex/0.171.0/approval_command_b.80x24.pane")
	if err != nil {
		b.Fatal(err)
	}
	in := c.in
	in.Pane = fullScreen(in)
	above := in
	line := "• Step of the work that was done long ago, and says (3s • esc to interrupt)\n"
	above.Pane = strings.Repeat(line, 1<<20/len(line)) + in.Pane
	b.Run("none", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			reading = Read(in)
		}
	})
	b.Run("1MiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			reading = Read(above)
		}
	})
}

// BenchmarkRaw reads a recorded stream: the emulator's cost, and ours on top.
func BenchmarkRaw(b *testing.B) {
	c, err := readPane(panesDir + "/codex/raw/0.171.0_approval_command_b.80x24.pane")
	if err != nil {
		b.Fatal(err)
	}
	in, raw := c.in, c.in.Pane
	rendered := render(in)
	b.Run("emulator", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			sink += len(render(in).Pane)
		}
	})
	b.Run("emulator+read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			reading = Read(in)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			reading = Read(rendered)
		}
	})
}

// An 80x24 pane takes at most 4 allocations, whatever it shows. The time is in
// the benchmarks: 10 µs on an idle core.
func TestAllocations(t *testing.T) {
	worst, n := "", 0.0
	for _, c := range panes(t) {
		if c.in.Cols != 80 || c.in.Rows != 24 || c.in.Format == session.Raw {
			continue
		}
		for look, in := range c.looks() {
			// The race detector and a garbage collection empty the pool of screens now
			// and then, so the best of a few looks counts.
			got := 5.0
			for tries := 0; got > 4 && tries < 20; tries++ {
				got = testing.AllocsPerRun(1, func() { reading = Read(in) })
			}
			if got > n {
				worst, n = c.file+look+" ("+reading.Rule+")", got
			}
		}
	}
	t.Logf("at most %v allocations: %s", n, worst)
	if n > 4 {
		t.Errorf("%v allocations for %s", n, worst)
	}
}
