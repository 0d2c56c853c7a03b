package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func get(t *testing.T, url, accept string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", url, nil)
	r.Header.Set("Accept-Encoding", accept)
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestFilesAreServedForEver(t *testing.T) {
	for name, kind := range map[string]string{
		"app.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8",
		"idiomorph.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		want, _ := files.ReadFile(name)
		res := get(t, Asset(name), "")
		body, _ := io.ReadAll(res.Body)
		if !bytes.Equal(body, want) || res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d bytes, encoding %q", name, len(body), res.Header.Get("Content-Encoding"))
		}
		if got := res.Header.Get("Content-Type"); got != kind {
			t.Errorf("%s: type %q, want %q", name, got, kind)
		}
		if got := res.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: cache %q", name, got)
		}

		res = get(t, Asset(name), "br, gzip;q=0.8")
		if got := res.Header.Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s: encoding %q, want gzip", name, got)
		}
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(z); !bytes.Equal(body, want) {
			t.Errorf("%s: unpacked to %d bytes, want %d", name, len(body), len(want))
		}
		if got := get(t, Asset(name), "gzip;q=0").Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s: gzip although refused", name)
		}
	}
}

func TestOtherAddressesAreNotFound(t *testing.T) {
	for _, url := range []string{"/static/", "/static/app.css", "/static/app.000000000000.css", "/static/../embed.go", "/static/embed.go"} {
		if res := get(t, url, ""); res.StatusCode != http.StatusNotFound || strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, cache %q", url, res.StatusCode, res.Header.Get("Cache-Control"))
		}
	}
}

func TestOnlyReading(t *testing.T) {
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest("POST", Asset("app.css"), nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestStyleSheetIsSmall(t *testing.T) {
	if n := len(byName["app.css"].gzip); n > 14<<10 {
		t.Errorf("app.css is %d bytes compressed, over 14 KiB", n)
	}
}

// palettes reads the colours of both themes out of app.css.
func palettes(t *testing.T) (light, dark map[string]string) {
	css := string(byName["app.css"].body)
	blocks := regexp.MustCompile(`(?s):root(?:[:\[][^ ]*)? \{(.*?)\}`).FindAllStringSubmatch(css, 3)
	if len(blocks) != 3 {
		t.Fatal("app.css has not the two palettes")
	}
	read := func(block string) map[string]string {
		m := map[string]string{}
		for _, d := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
			m[d[1]] = d[2]
		}
		return m
	}
	light, dark = read(blocks[0][1]), read(blocks[1][1])
	if chosen := read(blocks[2][1]); !maps.Equal(dark, chosen) || len(dark) < 40 {
		t.Errorf("the dark palette of the system, %v, is not that of the owner's choice, %v", dark, chosen)
	}
	return light, dark
}

func luminance(hex string) float64 {
	n, _ := strconv.ParseUint(hex[1:], 16, 32)
	lin := func(v uint64) float64 {
		c := float64(v&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(n>>16) + 0.7152*lin(n>>8) + 0.0722*lin(n)
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestColoursCanBeRead(t *testing.T) {
	light, dark := palettes(t)
	for theme, p := range map[string]map[string]string{"light": light, "dark": dark} {
		check := func(text, behind string, least float64) {
			if p[text] == "" || p[behind] == "" {
				t.Fatalf("%s: no --%s or --%s", theme, text, behind)
			}
			if got := contrast(p[text], p[behind]); got < least {
				t.Errorf("%s: --%s on --%s has contrast %.2f, want %.1f", theme, text, behind, got, least)
			}
		}
		for i := range 17 { // the pane's colours, on its own ground and on each other's
			check("c"+strconv.Itoa(i), "pane", 4.5)
			for g := range 9 {
				check("c"+strconv.Itoa(i), "g"+strconv.Itoa(g), 4.5)
			}
		}
		for g := range 9 {
			check("text", "g"+strconv.Itoa(g), 4.5)
		}
		for _, text := range []string{"text", "muted", "accent", "amber", "blue", "red", "green", "zinc", "grey"} {
			for _, behind := range []string{"page", "raised", "hover"} {
				check(text, behind, 4.5)
			}
		}
		for _, wash := range []string{"wash-red", "wash-amber", "wash-blue"} {
			check("text", wash, 4.5)
			check("muted", wash, 4.5)
			check("red", wash, 4.5)
			check("accent", wash, 4.5)
		}
		check("on-accent", "accent", 4.5)
		check("edge", "page", 3)
		check("edge", "raised", 3)
	}
}
