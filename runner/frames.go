package runner

import "bytes"

// frameMost is the longest line of a protocol that is read, in bytes.
const frameMost = 16 << 20

// frames cuts the output of an engine that speaks a protocol into its lines, as
// bytes. Reads may split a line anywhere.
type frames struct {
	buf  []byte
	long bool // a line was longer than frameMost: what follows is not read
}

// add takes what was read and returns the lines that are whole now, without their
// ends. They are the caller's. After a line that is too long there are none.
func (f *frames) add(p []byte) (whole [][]byte) {
	for !f.long {
		i := bytes.IndexByte(p, '\n')
		if n := len(f.buf) + i; i < 0 && len(f.buf)+len(p) > frameMost || n > frameMost {
			f.long, f.buf = true, nil
			return whole
		}
		if i < 0 {
			f.buf = append(f.buf, p...)
			return whole
		}
		f.buf = append(f.buf, p[:i]...)
		whole = append(whole, f.take())
		p = p[i+1:]
	}
	return whole
}

// flush returns a last line that had no end; nil if there is none.
func (f *frames) flush() []byte {
	if len(f.buf) == 0 {
		return nil
	}
	return f.take()
}

func (f *frames) take() []byte {
	line := bytes.TrimSuffix(f.buf, []byte("\r"))
	f.buf = nil
	return line
}
