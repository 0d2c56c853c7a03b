package push

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"signalbox/session"
	"signalbox/store"
)

// sendWait bounds one delivery.
const sendWait = 10 * time.Second

// keepFor is how long a push service keeps a notice for a device that is away, in
// seconds: a question that old is answered or forgotten.
const keepFor = 12 * 60 * 60

// anybody stands for who sends, where this console has no public https address. Some
// push services refuse a made-up mail address, and none asks who answers at this one.
const anybody = "https://example.org/"

// Keys are what this console signs with (VAPID), base64url.
type Keys struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

// NewKeys makes a pair.
func NewKeys() (Keys, error) {
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return Keys{}, fmt.Errorf("make the keys that notifications are signed with: %w", err)
	}
	return Keys{private, public}, nil
}

// Sender sends notices.
type Sender struct {
	keys    Keys
	subject string // an https address that stands for who sends
	client  *http.Client
}

// NewSender returns a Sender that signs with keys, as the console at public.
func NewSender(keys Keys, public string) *Sender {
	if !strings.HasPrefix(public, "https://") {
		public = anybody
	}
	return &Sender{keys: keys, subject: public, client: &http.Client{Timeout: sendWait}}
}

// Browser sends n to one subscribed browser, encrypted for it. gone says that the
// subscription is no more and is to be forgotten; the error is a sentence that holds
// what the push service said.
func (s *Sender) Browser(ctx context.Context, sub store.Subscription, n Notice) (gone bool, err error) {
	payload, err := json.Marshal(n)
	if err != nil {
		return false, fmt.Errorf("write a notice: %w", err)
	}
	urgency := webpush.UrgencyHigh // wakes a phone that sleeps
	if n.Kind == Done || n.Quiet {
		urgency = webpush.UrgencyNormal
	}
	resp, err := webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{
		Endpoint: sub.Endpoint, Keys: webpush.Keys{Auth: sub.Auth, P256dh: sub.P256dh},
	}, &webpush.Options{
		HTTPClient: s.client, Subscriber: s.subject, TTL: keepFor, Urgency: urgency,
		VAPIDPublicKey: s.keys.Public, VAPIDPrivateKey: s.keys.Private,
	})
	if err != nil {
		return false, session.Problemf(session.ErrOffline, "The push service cannot be reached: %s", session.CleanDetail(reason(err)))
	}
	return answered("The push service", resp)
}

// reason is an error without the address in it, which is a secret of the browser's.
func reason(err error) string {
	if u, ok := err.(*url.Error); ok {
		return u.Err.Error()
	}
	return err.Error()
}

func answered(who string, resp *http.Response) (gone bool, err error) {
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 2048))
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	gone = resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone
	return gone, session.Problemf(session.ErrOffline, "%s answered %s: %s", who, resp.Status, session.CleanDetail(string(said)))
}

// Hook is a webhook as ntfy takes it: the address of a topic, and a token if that
// wants one.
type Hook struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
}

// Check returns a Problem for an address that no notice can be sent to.
func (h Hook) Check() error {
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return session.Problemf(session.ErrInvalid, "The webhook is a web address such as https://ntfy.example/my-topic.")
	}
	if strings.ContainsAny(h.Token, "\r\n") {
		return session.Problemf(session.ErrInvalid, "The webhook's token is one line.")
	}
	return nil
}

// Send posts n to the hook; link is where a tap leads, a whole URL.
func (s *Sender) Send(ctx context.Context, h Hook, n Notice, link string) error {
	body := n.Body
	if body == "" {
		body = n.Title
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request of a notice: %w", err)
	}
	req.Header.Set("Title", headerText(n.Title))
	req.Header.Set("Tags", string(n.Kind))
	req.Header.Set("Priority", priority(n))
	req.Header.Set("Click", link)
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return session.Problemf(session.ErrOffline, "The webhook cannot be reached: %s", session.CleanDetail(reason(err)))
	}
	_, err = answered("The webhook", resp)
	return err
}

// priority is ntfy's: 3 is ordinary, 4 makes more noise.
func priority(n Notice) string {
	switch {
	case n.Quiet:
		return "2"
	case n.Kind == Done:
		return "3"
	}
	return "4"
}

// headerText is a title as a header takes it: RFC 2047, which ntfy decodes, where it
// is not plain ASCII.
func headerText(text string) string {
	return mime.BEncoding.Encode("utf-8", session.Line(text, 120))
}
