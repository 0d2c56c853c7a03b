package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"signalbox/session"
)

// endpoint is the address of a console's runner socket.
func endpoint(server string) (string, error) {
	u, err := url.Parse(server)
	if err == nil {
		switch u.Scheme {
		case "http", "ws":
			u.Scheme = "ws"
		case "https", "wss":
			u.Scheme = "wss"
		default:
			err = errors.New("no scheme")
		}
	}
	if err != nil || u.Host == "" {
		return "", session.Problemf(session.ErrInvalid, "%q is not the address of a console. Write it as https://console.example or http://127.0.0.1:7878.", session.Line(server, 200))
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimRight(u.Path, "/") + "/api/v1/runner"
	return u.String(), nil
}

// dial connects. A token that the console does not accept is a Problem; any
// other failure may pass.
func (r *runner) dial(ctx context.Context) (*websocket.Conn, error) {
	address, err := endpoint(r.cfg.Server)
	if err != nil {
		return nil, err
	}
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloMost, ReadBufferSize: 4 << 10, WriteBufferSize: 64 << 10}
	conn, resp, err := d.DialContext(ctx, address, http.Header{"Authorization": {"Bearer " + r.cfg.Token}})
	if err == nil {
		return conn, nil
	}
	if resp == nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, session.Problemf(session.ErrForbidden,
			"The console at %s does not accept this runner's token.%s Make one there with \"console token create --kind runner --name %s\" and start the runner with it.",
			r.cfg.Server, quoted(body), r.cfg.Name)
	}
	return nil, fmt.Errorf("dial: the console answered %s", resp.Status)
}

// quoted quotes the message of an error answer.
func quoted(body []byte) string {
	var answer struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return ""
	}
	return " It says: " + strings.TrimSuffix(session.CleanDetail(answer.Error.Message), ".") + "."
}

// greet says hello and waits for the console's answer. A refusal for good is a
// Problem, on either side.
func greet(conn *websocket.Conn, hello session.Hello) (*session.Welcome, error) {
	b, err := session.EncodeFrame(session.Frame{Type: session.FrameHello, Hello: &hello})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(session.MaxFrame)
	conn.SetWriteDeadline(time.Now().Add(writeMost))
	if err := conn.WriteMessage(websocket.TextMessage, b); err != nil {
		return nil, fmt.Errorf("say hello: %w", err)
	}
	conn.SetReadDeadline(time.Now().Add(helloMost))
	for {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			return nil, fmt.Errorf("wait for the console's welcome: %w", err)
		}
		f, err := session.DecodeFrame(data, kind == websocket.BinaryMessage)
		switch {
		case err != nil:
			return nil, fmt.Errorf("wait for the console's welcome: %w", err)
		case f.Refused != nil:
			return nil, refusedFor(*f.Refused)
		case f.Welcome != nil && f.Welcome.Version != session.WireVersion:
			return nil, session.Problemf(session.ErrConflict,
				"The console speaks version %d of the runner protocol and this runner speaks version %d. Install the same release of console on both machines.",
				f.Welcome.Version, session.WireVersion)
		case f.Welcome != nil:
			return f.Welcome, nil
		}
	}
}

// refusedFor turns a refusal into a Problem, if it is one for good.
func refusedFor(ref session.Refusal) error {
	kind := session.ErrConflict
	switch ref.Code {
	case "token":
		kind = session.ErrForbidden
	case "version", "name":
	default:
		return fmt.Errorf("the console refused this runner: %s %s", session.Line(ref.Code, 40), session.CleanDetail(ref.Message))
	}
	sentence := session.Line(ref.Message, 1000)
	if sentence == "" {
		sentence = "The console refuses this runner because of its " + ref.Code + "."
	}
	return session.Problemf(kind, "%s", sentence)
}
