package rmcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

const (
	// packet is how long one answer may take before the request is sent again.
	packet = time.Second
	// resend is how often a request that changes nothing is sent again on a lossy network.
	resend = 2
	// grace is how long a valid answer is waited for after a refusal that anybody could
	// have sent.
	grace = 250 * time.Millisecond
	// bounces is how often one packet is sent again that could not leave because of an ICMP
	// message about an earlier one.
	bounces = 3
)

// pace is how often a request is sent, and how long each try waits.
type pace struct {
	tries int
	wait  time.Duration
}

var (
	// brisk is for requests that may be sent again.
	brisk = pace{1 + resend, packet}
	// once is for requests that may not be.
	once = pace{1, packet}
	// patient sends once, and waits as long as brisk does in all.
	patient = pace{1, (1 + resend) * packet}
)

// ErrSilent: no answer came.
var ErrSilent = errors.New("no answer")

// exchange sends a request and waits for an answer that take accepts. Other datagrams are
// dropped; the first of them is the error if no answer is accepted.
func exchange(ctx context.Context, conn net.Conn, p pace, request func() []byte, take func([]byte) error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var dropped, bounce error
	for range p.tries {
		if err := ctx.Err(); err != nil {
			return silence(dropped, bounce, err)
		}
		if err := send(conn, request(), &bounce); err != nil {
			return err
		}
		done, err := await(ctx, conn, p.wait, &dropped, &bounce, take)
		if done || err != nil {
			return err
		}
		if saysNo(dropped) {
			return dropped
		}
	}
	return silence(dropped, bounce, ctx.Err())
}

// send sends one packet. An ICMP message about an earlier packet is reported as a failure
// to send: then the packet is sent again.
func send(conn net.Conn, b []byte, bounce *error) error {
	for range 1 + bounces {
		_, err := conn.Write(b)
		if !bounced(err, bounce) {
			return err
		}
	}
	return nil // lost, as on any network
}

// bounced: an ICMP message says that a packet did not arrive. Anybody can send such
// messages, and a BMC that is starting has its port closed for a while, so they end
// nothing.
func bounced(err error, why *error) bool {
	var no syscall.Errno
	if !errors.As(err, &no) || !slices.Contains(icmp, no) {
		return false
	}
	*why = no
	return true
}

// icmp are the errors that such messages cause on a connected socket.
var icmp = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.ENOPROTOOPT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	syscall.EHOSTDOWN, syscall.EOPNOTSUPP, syscall.EPROTO, syscall.EMSGSIZE, syscall.ECONNRESET,
}

// await reads until a datagram is accepted, or the time is over.
func await(caller context.Context, conn net.Conn, limit time.Duration, dropped, bounce *error, take func([]byte) error) (done bool, err error) {
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	b := make([]byte, wire.Most)
	for ctx.Err() == nil {
		end, _ := ctx.Deadline()
		if err := conn.SetReadDeadline(end); err != nil {
			return false, err
		}
		n, err := conn.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false, nil
		}
		if bounced(err, bounce) {
			continue
		}
		if err != nil {
			return false, err
		}
		switch err := take(b[:n]); {
		case err == nil:
			return true, nil
		case errors.Is(err, wire.ErrOther):
		case saysNo(err) && !saysNo(*dropped):
			*dropped = err
			return await(caller, conn, grace, dropped, bounce, take)
		case *dropped == nil:
			*dropped = err
		}
	}
	return false, nil
}

// saysNo: an answer refuses, though nothing proves who sent it. That is enough to end a
// login. It gives an attacker no more than holding back the BMC's answers would.
func saysNo(err error) bool {
	var status wire.Status
	var weaker *wire.Weaker
	return errors.As(err, &status) || errors.As(err, &weaker) || errors.Is(err, wire.ErrWrongCode)
}

func silence(dropped, bounce, err error) error {
	switch {
	case dropped != nil:
		return dropped
	case bounce != nil:
		return fmt.Errorf("%w: the network says: %w", ErrSilent, bounce)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return ErrSilent
}
