// Package pushtest is a browser and its push service for tests, on this machine.
package pushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/store"
	"signalbox/web/push"
)

var b64 = base64.RawURLEncoding

// Device is a browser's half of a subscription, with the push service that it has
// on this machine: it opens what is sent as RFC 8291 says and checks who signed.
type Device struct {
	t      testing.TB
	key    *ecdh.PrivateKey
	auth   []byte
	server *httptest.Server
	signer string // the console's public key

	mu     sync.Mutex
	status int // what it answers; 0 is 201
	got    []Sent
}

// Sent is one notice as it came, opened.
type Sent struct {
	push.Notice
	Header http.Header
}

// New returns a device that takes only what signer, a public key, has signed.
func New(t testing.TB, signer string) *Device {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{t: t, key: key, auth: make([]byte, 16), signer: signer}
	rand.Read(d.auth)
	d.server = httptest.NewServer(d)
	t.Cleanup(d.server.Close)
	return d
}

// Subscription is what its browser would hand over.
func (d *Device) Subscription() store.Subscription {
	return store.Subscription{Endpoint: d.server.URL + "/send/1", P256dh: b64.EncodeToString(d.key.PublicKey().Bytes()), Auth: b64.EncodeToString(d.auth)}
}

// Answer has its push service refuse everything with a status; 0 takes it again.
func (d *Device) Answer(status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status = status
}

// Got are the notices so far.
func (d *Device) Got() []Sent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.got)
}

// Close ends its push service.
func (d *Device) Close() { d.server.Close() }

func (d *Device) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.status != 0 {
		http.Error(w, "no such\nsubscription", d.status)
		return
	}
	body, _ := io.ReadAll(r.Body)
	plain, err := d.open(body)
	if err == nil {
		err = d.signed(r.Header.Get("Authorization"))
	}
	var n push.Notice
	if err == nil {
		err = json.Unmarshal(plain, &n)
	}
	if err != nil {
		d.t.Errorf("the push service could not take it: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.got = append(d.got, Sent{n, r.Header})
	w.WriteHeader(http.StatusCreated)
}

// open decrypts an aes128gcm body (RFC 8188) with the keys of RFC 8291.
func (d *Device) open(body []byte) ([]byte, error) {
	if len(body) < 86 {
		return nil, errors.New("too short")
	}
	salt, size, idlen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	sender, err := ecdh.P256().NewPublicKey(body[21 : 21+idlen])
	if err != nil {
		return nil, err
	}
	record := body[21+idlen:]
	if len(record) > int(size) {
		return nil, errors.New("more than one record")
	}
	shared, err := d.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(d.key.PublicKey().Bytes()) + string(sender.Bytes())
	ikm, err := hkdf.Key(sha256.New, shared, d.auth, info, 32)
	if err != nil {
		return nil, err
	}
	cek, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	block, err := aes.NewCipher(cek)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	text, _, found := bytes.Cut(plain, []byte{2}) // the last record's delimiter
	if !found {
		return nil, errors.New("no delimiter")
	}
	return text, nil
}

// signed checks the VAPID header (RFC 8292): whom the token is for, that it is not
// for ever, and that the console's key signed it.
func (d *Device) signed(header string) error {
	rest, ok := strings.CutPrefix(header, "vapid ")
	if !ok {
		return errors.New("no vapid scheme: " + header)
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	if fields["k"] != d.signer {
		return errors.New("signed with another key")
	}
	parts := strings.Split(fields["t"], ".")
	if len(parts) != 3 {
		return errors.New("no token")
	}
	claims, _ := b64.DecodeString(parts[1])
	var c struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(claims, &c); err != nil {
		return err
	}
	if c.Aud != d.server.URL || !strings.HasPrefix(c.Sub, "https://") || time.Until(time.Unix(c.Exp, 0)) > 24*time.Hour {
		return errors.New("claims: " + string(claims))
	}
	public, err := b64.DecodeString(d.signer)
	if err != nil {
		return err
	}
	sig, err := b64.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		return errors.New("a signature of another kind")
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		return errors.New("a wrong signature")
	}
	return nil
}
