package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestPushTravelsWithItsPaneBeside(t *testing.T) {
	want := Push{
		N: 7, Session: "s_1",
		Snapshot: Snapshot{Seq: 3, Epoch: "e", At: noon, Pane: "a\x1b[31m\n\"é\"", RunState: Idle, Alive: ptr(true), LastTurn: &LastTurn{Verdict: VerdictFailed, ExitCode: ptr(1), At: noon, TurnID: "t1"}},
		Turns:    []TurnReport{{Turn: "t1", Message: "m_1", Outcome: &LastTurn{Verdict: VerdictFailed, ExitCode: ptr(1), At: noon, TurnID: "t1"}}, {Turn: "t2", Began: true}},
	}
	data, err := EncodePush(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(data, []byte(want.Snapshot.Pane)) {
		t.Error("the pane is not at the end as it is")
	}
	got, err := DecodeFrame(data, true)
	if err != nil {
		t.Fatal(err)
	}
	if got.Type != FramePush || !reflect.DeepEqual(*got.Push, want) {
		t.Errorf("decoded\n%+v, want\n%+v", got.Push, want)
	}
}

func TestFrames(t *testing.T) {
	for _, want := range []Frame{
		{Type: FrameHello, Hello: &Hello{Version: 1, Name: "box", Journal: "j", Epoch: "e", Engines: []EngineFound{{Engine: Codex, Found: true, Runtimes: []Runtime{ChildProcess}, Trusts: []Trust{TrustRead}}}}},
		{Type: FrameWelcome, Welcome: &Welcome{Version: 1, Acked: 9}},
		{Type: FrameRefused, Refused: &Refusal{Code: "version", Message: "no"}},
		{Type: FrameAck, Ack: &Ack{N: 4, Refused: &Refusal{Code: "too_large", Message: "no"}}},
		{Type: FrameCommand, Command: &Command{ID: "c1", Do: DoTurn, Session: "s_1", Text: "words", Spec: &Spec{Engine: Custom, Command: []string{"sh"}}}},
		{Type: FrameResult, Result: &Result{ID: "c1", OK: true, Turn: "t1", Workdir: &WorkdirReport{WorkdirOK, "/", "fine"}, Fates: map[string]Fate{"m_1": {State: FateEnded, Outcome: &LastTurn{Verdict: VerdictOK, At: noon}}}}},
	} {
		data, err := EncodeFrame(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeFrame(data, false)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s frame: %v\n%+v, want\n%+v", want.Type, err, got, want)
		}
	}
}

// header is a binary frame whose header is head.
func header(head, pane string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head+pane...)
}

func TestFramesThatAreNone(t *testing.T) {
	for name, in := range map[string]struct {
		data   []byte
		binary bool
	}{
		"empty text":                     {nil, false},
		"empty binary":                   {nil, true},
		"cut in the length":              {[]byte{0, 0, 0}, true},
		"cut in the header":              {header(`{"t":"push"}`, "")[:9], true},
		"a length beyond the end":        {[]byte{0xff, 0xff, 0xff, 0xff, '{', '}'}, true},
		"JSON cut off":                   {[]byte(`{"t":"hello","hello":{"v":1`), false},
		"JSON of another shape":          {[]byte(`[1,2]`), false},
		"a push as text":                 {[]byte(`{"t":"push","push":{"n":1,"session":"s_1","snapshot":{"pane":"x"}}}`), false},
		"a push with a seq below one":    {header(`{"t":"push","push":{"n":1,"session":"s_1","snapshot":{"seq":-4}}}`, "x"), true},
		"a number that is far too large": {[]byte(`{"t":"ack","ack":{"n":1e99}}`), false},
	} {
		if f, err := DecodeFrame(in.data, in.binary); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %+v, %v; want ErrFrame", name, f, err)
		}
	}
}

func TestEveryCutOfAPushIsNoticedOrShortensThePane(t *testing.T) {
	pane := "the pane"
	data, err := EncodePush(Push{N: 1, Session: "s_1", Snapshot: Snapshot{Pane: pane}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		f, err := DecodeFrame(data[:n], true)
		if n < len(data)-len(pane) {
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("cut at %d of %d: %+v, %v; want ErrFrame", n, len(data), f, err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(pane, f.Push.Snapshot.Pane) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestFramesOfTheFuture(t *testing.T) {
	f, err := DecodeFrame([]byte(`{"t":"dance","dance":{"steps":3}}`), false)
	if err != nil || !reflect.DeepEqual(f, Frame{Type: "dance"}) {
		t.Errorf("a kind of the future: %+v, %v", f, err)
	}
	f, err = DecodeFrame(header(`{"t":"push","mood":"fine","push":{"n":1,"session":"s_1","smell":2,"snapshot":{"seq":2,"aura":"blue"}}}`, "x\xff"), true)
	if err != nil || f.Push.N != 1 || f.Push.Snapshot.Seq != 2 || f.Push.Snapshot.Pane != "x\ufffd" {
		t.Errorf("fields of the future and a torn letter: %+v, %v", f.Push, err)
	}
}

func TestVersions(t *testing.T) {
	if r := CheckVersion(WireVersion); r != nil {
		t.Errorf("our own version is refused: %+v", r)
	}
	for _, v := range []int{0, -1, WireVersion + 1, 99} {
		r := CheckVersion(v)
		if r == nil || r.Code != "version" || !strings.Contains(r.Message, "Install the same release") {
			t.Errorf("version %d: %+v", v, r)
		}
	}
}

func FuzzDecodeFrame(f *testing.F) {
	push, err := EncodePush(Push{N: 1, Session: "s_1", Snapshot: Snapshot{Pane: "x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(push, true)
	f.Add([]byte(`{"t":"hello","hello":{"v":1}}`), false)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, data []byte, isBinary bool) {
		got, err := DecodeFrame(data, isBinary)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Fatalf("%v is not ErrFrame", err)
			}
			return
		}
		if got.Push == nil {
			return
		}
		again, err := EncodePush(*got.Push)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if _, err := DecodeFrame(again, true); err != nil {
			t.Fatalf("what was encoded cannot be decoded: %v", err)
		}
	})
}
