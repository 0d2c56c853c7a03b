package pilot

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// keybox encrypts a key for the database, so that a copy of the database alone
// does not give it away: AES-256-GCM with a key of its own, in a file that only
// the owner can read.
type keybox struct{ dir string }

// sealVersion begins what keybox has encrypted.
const sealVersion = "v1:"

var errSealed = errors.New("not sealed by this key")

func (b *keybox) file() string { return filepath.Join(b.dir, "pilot-key") }

func (b *keybox) seal(plain string) (string, error) {
	gcm, err := b.cipher(true)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce) // never fails, by its documentation
	sealed := gcm.Seal(nonce, nonce, []byte(plain), []byte(keyName))
	return sealVersion + base64.StdEncoding.EncodeToString(sealed), nil
}

func (b *keybox) open(sealed string) (string, error) {
	text, ok := strings.CutPrefix(sealed, sealVersion)
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return "", errSealed
	}
	gcm, err := b.cipher(false)
	if err != nil {
		return "", err
	}
	if len(data) < gcm.NonceSize() {
		return "", errSealed
	}
	plain, err := gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], []byte(keyName))
	if err != nil {
		return "", errSealed
	}
	return string(plain), nil
}

// cipher reads the key file; with make it makes one where there is none.
func (b *keybox) cipher(make bool) (cipher.AEAD, error) {
	data, err := os.ReadFile(b.file())
	if errors.Is(err, os.ErrNotExist) && make {
		data, err = b.newKey()
	}
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 32 {
		return nil, errSealed
	}
	if info, err := os.Stat(b.file()); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(b.file(), 0o600); err != nil {
			return nil, fmt.Errorf("close the key file to others: %w", err)
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (b *keybox) newKey() ([]byte, error) {
	var key [32]byte
	rand.Read(key[:])
	data := []byte(base64.StdEncoding.EncodeToString(key[:]) + "\n")
	f, err := os.OpenFile(b.file(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return nil, err
	}
	return data, f.Close()
}
