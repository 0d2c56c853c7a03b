package session

import "testing"

func TestWhatWasAskedForIsDone(t *testing.T) {
	yes, no := true, false
	ended := func(turn string) []TurnReport {
		return []TurnReport{{Turn: turn, Outcome: &LastTurn{Verdict: VerdictOK}}}
	}
	status := func(s Status) State { return State{Reading: Reading{Status: s}} }
	for name, c := range map[string]struct {
		asked Asked
		push  Push
		state State
		done  bool
	}{
		"that turn has ended":               {Asked{Do: DoInterrupt, Turn: "t1"}, Push{Turns: ended("t1")}, status(StatusProcessing), true},
		"another turn has ended":            {Asked{Do: DoInterrupt, Turn: "t1"}, Push{Turns: ended("t2")}, status(StatusProcessing), false},
		"another has begun":                 {Asked{Do: DoInterrupt, Turn: "t1"}, Push{Turns: []TurnReport{{Turn: "t1", Began: true}}}, status(StatusProcessing), false},
		"a turn without a name has ended":   {Asked{Do: DoInterrupt}, Push{Turns: ended("t2")}, status(StatusProcessing), true},
		"the engine is free":                {Asked{Do: DoInterrupt}, Push{}, status(StatusCompleted), true},
		"free before the turn's own report": {Asked{Do: DoInterrupt, Turn: "t1"}, Push{}, status(StatusCompleted), false},
		"still working":                     {Asked{Do: DoInterrupt}, Push{}, status(StatusProcessing), false},
		"not to be told":                    {Asked{Do: DoInterrupt}, Push{}, status(StatusUnknown), false},
		"the engine has gone":               {Asked{Do: DoInterrupt, Turn: "t1"}, Push{Snapshot: Snapshot{Alive: &no}}, State{}, true},
		"ended":                             {Asked{Do: DoStop}, Push{Snapshot: Snapshot{Alive: &no}}, State{}, true},
		"not ended":                         {Asked{Do: DoStop}, Push{Snapshot: Snapshot{Alive: &yes}}, State{}, false},
		"ended is not measured":             {Asked{Do: DoStop}, Push{}, State{}, false},
		"started":                           {Asked{Do: DoRestart}, Push{Snapshot: Snapshot{Alive: &yes}}, State{}, true},
		"not started":                       {Asked{Do: DoRestart}, Push{Snapshot: Snapshot{Alive: &no}}, State{}, false},
		"start is not measured":             {Asked{Do: DoRestart}, Push{}, State{}, false},
	} {
		if got := c.asked.Done(c.push, c.state); got != c.done {
			t.Errorf("%s: done is %t", name, got)
		}
	}
}
