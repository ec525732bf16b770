package functions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// wish writes a person's request for a check into the FenceTarget.
func (c *checked) wish(t *testing.T, value string) {
	t.Helper()
	ft, err := c.client.Target(t.Context(), "a")
	if err != nil || ft == nil {
		t.Fatal(ft, err)
	}
	ft.Annotations = map[string]string{api.CheckNowAnnotation: value}
	c.put(targetPath, ft)
}

// heeded reports whether the FenceTarget says that each device was read since the request.
func (c *checked) heeded(t *testing.T) bool {
	t.Helper()
	ft, err := c.client.Target(t.Context(), "a")
	if err != nil || ft == nil {
		t.Fatal(ft, err)
	}
	return ft.Heeded(ft.AskedNow())
}

// TestAWishIsHeededOnceEachDeviceWasAsked, by both functions. A new value is a new request.
func TestAWishIsHeededOnceEachDeviceWasAsked(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"), boundTo("b", ""), cutBy("s", ""))
	turns := time.Duration(0)
	turn := func() {
		c.turn(api.CheckTurn + turns*time.Minute)
		turns++
		c.handle(t)
	}
	for range 3 {
		turn()
	}
	for _, value := range []string{"1", "2"} {
		c.wish(t, value)
		var got []bool
		for range 3 {
			turn()
			got = append(got, c.heeded(t))
		}
		if d := cmp.Diff([]bool{false, false, true}, got); d != "" {
			t.Errorf("wish %s: %s", value, d)
		}
	}
	if c.reads != 9 {
		t.Errorf("%d reads", c.reads)
	}
}

// TestAWishDuringACheckLosesNoAnswer: the result is written beside the request and Host
// HA's state, and the claim is not left behind.
func TestAWishDuringACheckLosesNoAnswer(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.asked = func() {
		c.wish(t, "1")
		ft, err := c.client.Target(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ft.Status.HostHA = api.HostHAAvailable
		c.put(targetPath, ft)
	}
	c.handle(t)
	if d := cmp.Diff("True DeviceAnswers: a DeviceAnswers", c.target(t)); d != "" || c.heeded(t) {
		t.Errorf("heeded %v: %s", c.heeded(t), d)
	}
	if ft, err := c.client.Target(t.Context(), "a"); err != nil || ft.Status.HostHA != api.HostHAAvailable {
		t.Errorf("what the source has written meanwhile is lost: %+v, %v", ft.Status, err)
	}
	c.asked = nil
	c.turn(api.CheckTurn + time.Minute)
	c.handle(t)
	if !c.heeded(t) {
		t.Error("the wish is not heeded")
	}
}

// TestAWishOfANodeWithoutDevices is answered by saying so.
func TestAWishOfANodeWithoutDevices(t *testing.T) {
	c := newChecked(t)
	c.unfit = unfitFor(api.NoBinding)
	c.handle(t)
	c.wish(t, "1")
	c.turn(api.CheckTurn + time.Minute)
	c.handle(t)
	if !c.heeded(t) {
		t.Error("the wish is not heeded")
	}
}
