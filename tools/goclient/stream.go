package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const plain = "plain.kubevirt.io"

// dialer makes a WebSocket of a request, after the wrappers of the configuration have signed it.
type dialer struct {
	websocket.Dialer
	socket *websocket.Conn
}

func (d *dialer) RoundTrip(request *http.Request) (*http.Response, error) {
	socket, response, err := d.Dial(request.URL.String(), request.Header)
	d.socket = socket
	return response, err
}

func (c *Client) dial(path string) (*websocket.Conn, error) {
	trust, err := rest.TLSConfigFor(c.config)
	if err != nil {
		return nil, err
	}
	dialing := &dialer{Dialer: websocket.Dialer{TLSClientConfig: trust, Subprotocols: []string{plain}}}
	signing, err := rest.HTTPWrappersForConfig(c.config, dialing)
	if err != nil {
		return nil, err
	}
	where, err := url.Parse(strings.Replace(c.config.Host, "http", "ws", 1) + path)
	if err != nil {
		return nil, err
	}
	response, err := signing.RoundTrip(&http.Request{Method: http.MethodGet, URL: where, Header: http.Header{}})
	if err != nil {
		return nil, explain(response, err)
	}
	if spoken := dialing.socket.Subprotocol(); spoken != plain {
		return nil, fmt.Errorf("the server speaks %q, not %q", spoken, plain)
	}
	return dialing.socket, nil
}

// explain finds the words of a refusal. The library keeps no more of one than 1,024 bytes, and its type must be bare.
func explain(response *http.Response, err error) error {
	if response == nil || response.Header.Get("Content-Type") != "application/json" {
		return err
	}
	var status metav1.Status
	if broken := json.NewDecoder(response.Body).Decode(&status); broken != nil {
		return fmt.Errorf("a refusal that cannot be read: %w", broken)
	}
	return fmt.Errorf("%d: %w", response.StatusCode, apierrors.FromObject(&status))
}

// stream carries bytes both ways until the server ends it; the end of the input does not.
func (c *Client) stream(path string, in io.Reader, out io.Writer) error {
	socket, err := c.dial(path)
	if err != nil {
		return err
	}
	defer socket.Close()
	go feed(socket, in)
	for {
		kind, data, err := socket.ReadMessage()
		var end *websocket.CloseError
		switch {
		case errors.As(err, &end) && end.Code == websocket.CloseNormalClosure:
			return nil
		case err != nil:
			return err
		case kind != websocket.BinaryMessage:
			return fmt.Errorf("a message of type %d, which clients pass over", kind)
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
}

func feed(socket *websocket.Conn, in io.Reader) {
	buffer := make([]byte, 10240)
	for {
		size, err := in.Read(buffer)
		if err != nil || socket.WriteMessage(websocket.BinaryMessage, buffer[:size]) != nil {
			return
		}
	}
}
