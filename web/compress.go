package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"sync"

	"signalbox/static"
)

// packers are at the quickest level: a page is drawn for one reader, and a session's
// pane packs well at any.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return w
}}

// packed is where to write the body of an answer: compressed where the browser takes
// that. The caller closes it. The header must not have been written yet.
//
// What an attacker's page could learn of a secret from the lengths of compressed
// answers (BREACH) needs requests with the reader's cookie, which no other site can
// make: the cookie is SameSite.
func packed(w http.ResponseWriter, r *http.Request) io.WriteCloser {
	w.Header().Add("Vary", "Accept-Encoding")
	if !static.TakesGzip(r.Header.Get("Accept-Encoding")) {
		return plainBody{w}
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := packers.Get().(*gzip.Writer)
	z.Reset(w)
	return packedBody{z}
}

type plainBody struct{ io.Writer }

func (plainBody) Close() error { return nil }

type packedBody struct{ *gzip.Writer }

func (p packedBody) Close() error {
	err := p.Writer.Close()
	p.Reset(io.Discard)
	packers.Put(p.Writer)
	return err
}
