// Package static holds the files a page loads, each under a name with a hash of
// its content, so that a browser may keep it for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Prefix is the path under which Handler expects to be mounted.
const Prefix = "/static/"

//go:embed app.css live.js comfort.js push.js sw.js idiomorph.js icon.svg icon-192.png icon-512.png
var files embed.FS

type asset struct {
	url  string // with Prefix
	kind string // content type
	body []byte
	gzip []byte
}

var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
}

// byName holds the assets by plain name, byURL by address.
var byName, byURL = load()

func load() (byName, byURL map[string]*asset) {
	byName, byURL = map[string]*asset{}, map[string]*asset{}
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are compiled in
	}
	add := func(name string, body []byte) {
		sum := sha256.Sum256(body)
		ext := path.Ext(name)
		a := &asset{
			url:  Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext,
			kind: types[ext],
			body: body,
			gzip: pack(body),
		}
		byName[name], byURL[a.url] = a, a
	}
	for _, e := range entries {
		body, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		add(e.Name(), body)
	}
	for n := 1; n <= mostNumbered; n++ {
		add(numberedName(n), numbered(byName["icon.svg"].body, n))
	}
	return byName, byURL
}

func pack(body []byte) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is valid
	w.Write(body)                                           // a Buffer does not fail
	w.Close()
	return buf.Bytes()
}

// Asset gives the address of a file: "/static/app.1f2e3d4c5b6a.css" for
// "app.css". It panics on a name that is not compiled in.
func Asset(name string) string {
	a := byName[name]
	if a == nil {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return a.url
}

// Source is a file as it stands, for one that is served at an address of its own. It
// panics on a name that is not compiled in.
func Source(name string) []byte {
	a := byName[name]
	if a == nil {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return a.body
}

// Handler serves the files at the addresses that Asset gives, compressed where
// the browser takes that, and 404 for anything else.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := byURL[r.URL.Path]
		if a == nil {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		body := a.body
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Vary", "Accept-Encoding")
		if TakesGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = a.gzip
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodGet {
			w.Write(body) // an error means that the browser has gone
		}
	})
}

// TakesGzip reads an Accept-Encoding header.
func TakesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q := strings.ReplaceAll(params, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}
