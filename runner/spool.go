package runner

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"signalbox/session"
)

// spoolMost bounds what waits to be acknowledged, in bytes.
const spoolMost = 32 << 20

// spool holds the pushes that the console has not acknowledged, on disk, so
// that they survive the runner. Pushes are states: one that was not sent yet is
// replaced by a newer one of its session, which takes over its turns and items. Numbers
// rise over the life of a journal; a number that was replaced is never sent.
//
// The file is a log of records: a kind (one byte), the length and CRC-32C of
// the body (four bytes each, big-endian), the body. Kind P carries a push in its
// binary form, D the number of one that is no longer wanted, A the number up to
// which all are acknowledged. A torn record at the end is cut off.
type spool struct {
	mu     sync.Mutex
	path   string
	file   *os.File
	size   int64 // of the file
	live   int64 // bytes of the pushes that wait
	most   int64
	last   int64 // the last number given
	sent   int64 // the last number sent on the present connection
	high   int64 // the last number that a console may have, on any connection
	queue  []*spooled
	stale  map[session.ID]bool // what waits of a session is of a run before this one, and no longer so
	more   chan struct{}       // one slot: there is something to send
	broken error               // the disk failed; what waits is then in memory only
}

// spooled is a push that waits.
type spooled struct {
	push  session.Push
	bytes []byte
}

const recordHead = 9

// openSpool reads spool.log.
func (d *stateDir) openSpool() (*spool, error) {
	s := &spool{path: filepath.Join(d.path, "spool.log"), most: spoolMost, more: make(chan struct{}, 1)}
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	s.file = f
	in := bufio.NewReader(f)
	for {
		kind, body, err := readRecord(in)
		if err != nil {
			break // the end, or a torn record
		}
		s.size += recordHead + int64(len(body))
		s.apply(kind, body)
	}
	s.high = s.last
	if err := f.Truncate(s.size); err != nil {
		return nil, fmt.Errorf("cut the spool's torn end: %w", err)
	}
	if _, err := f.Seek(s.size, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return s, nil
}

func readRecord(in *bufio.Reader) (kind byte, body []byte, err error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > session.MaxFrame {
		return 0, nil, errors.New("a record too long")
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, nil, err
	}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(head[5:]) {
		return 0, nil, errors.New("a damaged record")
	}
	return head[0], body, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *spool) apply(kind byte, body []byte) {
	switch kind {
	case 'P':
		f, err := session.DecodeFrame(body, true)
		if err != nil || f.Push == nil {
			return
		}
		s.queue = append(s.queue, &spooled{*f.Push, body})
		s.live += int64(len(body))
		s.last = max(s.last, f.Push.N)
	case 'D', 'A':
		if len(body) != 8 {
			return
		}
		n := int64(binary.BigEndian.Uint64(body))
		s.last = max(s.last, n)
		s.drop(func(e *spooled) bool { return e.push.N == n || kind == 'A' && e.push.N < n })
	}
}

func (s *spool) drop(which func(*spooled) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(e *spooled) bool {
		if which(e) {
			s.live -= int64(len(e.bytes))
			return true
		}
		return false
	})
}

// put numbers p and keeps it until it is acknowledged. sure waits for the disk.
func (s *spool) put(p session.Push, sure bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	replaced := s.replaces(p.Session, itemsWeight(p.Items))
	turns, items := []session.TurnReport{}, []session.Item(nil)
	for _, e := range replaced {
		turns, items = append(turns, e.push.Turns...), mergeItems(items, e.push.Items)
	}
	p.Turns, p.Items = append(turns, p.Turns...), lightest(mergeItems(items, p.Items))
	p.N = s.last + 1
	b, err := session.EncodePush(p)
	if err != nil {
		return err
	}
	s.last++
	s.queue = append(s.queue, &spooled{p, b})
	s.live += int64(len(b))
	s.write('P', b)
	for _, e := range replaced {
		s.write('D', binary.BigEndian.AppendUint64(nil, uint64(e.push.N)))
		s.drop(func(x *spooled) bool { return x == e })
	}
	if sure && s.broken == nil {
		s.broken = s.file.Sync()
	}
	s.compactIfDue()
	s.wake()
	if s.broken != nil {
		return fmt.Errorf("write the spool: %w", s.broken)
	}
	return nil
}

// outdate has the next push of a session replace what waits of it, although the
// console may have that: it says that something runs which does not any more.
func (s *spool) outdate(id session.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale == nil {
		s.stale = map[session.ID]bool{}
	}
	s.stale[id] = true
}

// replaces returns the waiting pushes that a newer one of the session replaces,
// oldest first: those that were not sent, as far as it can take over their items
// beside its own, which weigh so much, and when the spool is full the older ones too.
func (s *spool) replaces(id session.ID, weight int) (old []*spooled) {
	full := s.live > s.most
	stale := s.stale[id]
	delete(s.stale, id)
	for _, e := range slices.Backward(s.queue) {
		if e.push.Session != id {
			continue
		}
		weight += itemsWeight(e.push.Items)
		if !full && (e.push.N <= s.high && !stale || weight > pushMost && len(e.push.Items) > 0) {
			break
		}
		old = append(old, e)
	}
	slices.Reverse(old)
	return old
}

// next returns the first push after the last one sent, or false. limit bounds
// what may be under way without an acknowledgement, in pushes.
func (s *spool) next(limit int) (b []byte, n int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.queue {
		if e.push.N > s.sent {
			if i >= limit {
				return nil, 0, false
			}
			s.sent = e.push.N
			s.high = max(s.high, s.sent)
			return e.bytes, e.push.N, true
		}
	}
	return nil, 0, false
}

// begin prepares for a connection to a console that has stored all up to acked.
func (s *spool) begin(acked int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, acked) // our own memory may be older than the console's
	s.ackLocked(acked)
	s.sent = 0
	s.wake()
}

// ack forgets all up to n.
func (s *spool) ack(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ackLocked(n)
	s.wake() // there may be room for more under way
}

func (s *spool) ackLocked(n int64) {
	n = min(n, s.last)
	if len(s.queue) == 0 || s.queue[0].push.N > n {
		return
	}
	s.drop(func(e *spooled) bool { return e.push.N <= n })
	s.write('A', binary.BigEndian.AppendUint64(nil, uint64(n)))
	s.compactIfDue()
}

// waiting says how many pushes wait to be acknowledged.
func (s *spool) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

func (s *spool) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *spool) write(kind byte, body []byte) {
	if s.broken != nil {
		return // a compaction may mend it
	}
	if _, err := s.file.Write(appendRecord(nil, kind, body)); err != nil {
		s.broken = err
	}
	s.size += recordHead + int64(len(body))
}

func appendRecord(b []byte, kind byte, body []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// compactIfDue rewrites the file when most of it is no longer wanted.
func (s *spool) compactIfDue() {
	if s.broken == nil && s.size < max(2*s.live, 1<<20) {
		return
	}
	var b bytes.Buffer
	// The number comes first, so that it never goes back.
	b.Write(appendRecord(nil, 'D', binary.BigEndian.AppendUint64(nil, uint64(s.last))))
	for _, e := range s.queue {
		b.Write(appendRecord(nil, 'P', e.bytes))
	}
	if err := writeFile(s.path, b.Bytes(), false); err != nil {
		s.broken = err
		return
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.broken = err
		return
	}
	s.file.Close()
	s.file, s.size, s.broken = f, int64(b.Len()), nil
}

func (s *spool) close() { s.file.Close() }
