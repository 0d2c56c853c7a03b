package push_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"signalbox/session"
	. "signalbox/web/push"
	"signalbox/web/push/pushtest"
)

func TestANoticeIsSealedAndSigned(t *testing.T) {
	keys, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	d := pushtest.New(t, keys.Public)
	s := NewSender(keys, "http://127.0.0.1:7878")
	want := Notice{Kind: NeedsYou, Tag: "s_1/asks", Title: "Needs you: demo ✳", Body: "Codex asks for an approval.", URL: "/sessions/s_1#prompt-p1_x", Quote: "secret command"}
	if gone, err := s.Browser(t.Context(), d.Subscription(), want); gone || err != nil {
		t.Fatal(gone, err)
	}
	want.Quote = "" // never in the clear of a notice, unless it was put into its body
	if got := d.Got(); len(got) != 1 || got[0].Notice != want {
		t.Errorf("it opened %+v", got)
	}
	if h := d.Got()[0].Header; h.Get("Urgency") != "high" || h.Get("TTL") == "" || h.Get("Content-Encoding") != "aes128gcm" {
		t.Errorf("headers %v", h)
	}
}

func TestWhatAPushServiceSays(t *testing.T) {
	keys, _ := NewKeys()
	s := NewSender(keys, "https://box.example")
	for status, wantGone := range map[int]bool{404: true, 410: true, 403: false, 500: false} {
		d := pushtest.New(t, keys.Public)
		d.Answer(status)
		gone, err := s.Browser(t.Context(), d.Subscription(), Notice{Kind: Done, Title: "x"})
		if gone != wantGone || err == nil || !strings.Contains(err.Error(), "no such subscription") {
			t.Errorf("%d: gone %v, %v", status, gone, err)
		}
	}
	d := pushtest.New(t, keys.Public)
	sub := d.Subscription()
	d.Close()
	if gone, err := s.Browser(t.Context(), sub, Notice{}); gone || !errors.Is(err, session.ErrOffline) || strings.Contains(err.Error(), "/send/1") {
		t.Errorf("unreachable: %v, %v", gone, err)
	}
	sub.P256dh = "AAAA"
	if _, err := s.Browser(t.Context(), sub, Notice{}); err == nil {
		t.Error("a broken key was taken")
	}
}

func TestTheWebhook(t *testing.T) {
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		if r.URL.Path == "/full" {
			http.Error(w, "limit reached", http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	s := NewSender(Keys{}, "")
	n := Notice{Kind: Failed, Title: "Failed: café", Body: "The engine exited with code 1 on its last turn."}
	if err := s.Send(t.Context(), Hook{URL: server.URL + "/topic", Token: "tk"}, n, "https://box.example/sessions/s_1"); err != nil {
		t.Fatal(err)
	}
	h := got.Header
	if body != n.Body || h.Get("Title") != "=?utf-8?b?RmFpbGVkOiBjYWbDqQ==?=" || h.Get("Priority") != "4" || h.Get("Tags") != "failed" ||
		h.Get("Click") != "https://box.example/sessions/s_1" || h.Get("Authorization") != "Bearer tk" {
		t.Errorf("%v %q", h, body)
	}
	if err := s.Send(t.Context(), Hook{URL: server.URL + "/full"}, n, ""); err == nil || !strings.Contains(err.Error(), "limit reached") {
		t.Errorf("a refusal: %v", err)
	}
	for _, bad := range []Hook{{}, {URL: "ntfy.example/x"}, {URL: "file:///etc/passwd"}, {URL: "https://ntfy.example/x", Token: "a\nb"}} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
