package rmcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

const (
	// packet is how long one answer may take before the request is sent again.
	packet = time.Second
	// resend is how often what changes nothing is sent again on a lossy network.
	resend = 2
	// grace is how long a valid answer is waited for after one that says no and that
	// anybody could have sent.
	grace = 250 * time.Millisecond
)

// ErrSilent is that nothing came.
var ErrSilent = errors.New("no answer")

// exchange sends a request and waits for an answer that is taken. What is not taken is
// dropped; the first of it is the error if nothing else comes.
func exchange(ctx context.Context, conn net.Conn, tries int, request func() []byte, take func([]byte) error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var dropped error
	for range tries {
		if err := ctx.Err(); err != nil {
			return silence(dropped, err)
		}
		if _, err := conn.Write(request()); err != nil {
			return err
		}
		done, err := await(ctx, conn, packet, &dropped, take)
		if done || err != nil {
			return err
		}
		if saysNo(dropped) {
			return dropped
		}
	}
	return silence(dropped, ctx.Err())
}

// await reads until something is taken, or the time is over.
func await(caller context.Context, conn net.Conn, limit time.Duration, dropped *error, take func([]byte) error) (done bool, err error) {
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
		if err != nil {
			return false, err
		}
		switch err := take(b[:n]); {
		case err == nil:
			return true, nil
		case errors.Is(err, wire.ErrOther):
		case saysNo(err) && !saysNo(*dropped):
			*dropped = err
			return await(caller, conn, grace, dropped, take)
		case *dropped == nil:
			*dropped = err
		}
	}
	return false, nil
}

// saysNo: an answer that says no, though nothing proves who has sent it. That is enough
// to end a login, and no more than whoever keeps the BMC's answers back can do.
func saysNo(err error) bool {
	var status wire.Status
	var weaker *wire.Weaker
	return errors.As(err, &status) || errors.As(err, &weaker) || errors.Is(err, wire.ErrWrongCode)
}

func silence(dropped, err error) error {
	switch {
	case dropped != nil:
		return dropped
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return ErrSilent
}
