package leases

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sec(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

const renewal = 10 * time.Second

// step is one thing that happens to a picture.
type step func(*picture)

func moves(node, mark string, at float64) step {
	return func(p *picture) { p.observe(node, mark, renewal, sec(at)) }
}
func away(at float64) step { return func(p *picture) { p.breaks(sec(at)) } }
func back(at float64) step { return func(p *picture) { p.stands(sec(at)) } }
func kept(still ...api.StillLease) step {
	return func(p *picture) { p.inherit(api.LeasePicture{Still: still}) }
}

func still(node, mark string, since float64, stale bool) api.StillLease {
	return api.StillLease{NodeName: node, Renewed: mark, Since: *Stamp(sec(since)), Stale: stale}
}

func pictureOf(since, at float64, total int32, s ...api.StillLease) api.LeasePicture {
	p := api.LeasePicture{Since: Stamp(sec(since)), ObservedAt: Stamp(sec(at)), Total: total, StillCount: int32(len(s)), Still: s}
	if total > 0 {
		p.Renewal = metav1.Duration{Duration: renewal}
	}
	return p
}

func TestPicture(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		at    float64
		want  api.LeasePicture
	}{
		"nothing watched": {nil, 5, pictureOf(0, 5, 0)},
		"just before it missed a renewal it is well":    {[]step{moves("a", "1", 0)}, 11.9, pictureOf(0, 11.9, 1)},
		"suspect once it missed a renewal":              {[]step{moves("a", "1", 0)}, 12, pictureOf(0, 12, 1, still("a", "1", 0, false))},
		"just before it missed two it is not stale":     {[]step{moves("a", "1", 0)}, 19.9, pictureOf(0, 19.9, 1, still("a", "1", 0, false))},
		"stale once it missed two":                      {[]step{moves("a", "1", 0)}, 20, pictureOf(0, 20, 1, still("a", "1", 0, true))},
		"seeing it again without a move is no move":     {[]step{moves("a", "1", 0), moves("a", "1", 11)}, 12, pictureOf(0, 12, 1, still("a", "1", 0, false))},
		"a move makes it well, whatever its time says":  {[]step{moves("a", "9", 0), moves("a", "1", 11)}, 22, pictureOf(0, 22, 1)},
		"the Lease of no node is not counted":           {[]step{moves("ghost", "1", 0), moves("a", "1", 0)}, 12, pictureOf(0, 12, 1, still("a", "1", 0, false))},
		"a Lease that is gone is forgotten":             {[]step{moves("a", "1", 0), func(p *picture) { p.forget("a") }}, 12, pictureOf(0, 12, 0)},
		"in the order of their names":                   {[]step{moves("b", "1", 0), moves("a", "1", 0)}, 20, pictureOf(0, 20, 2, still("a", "1", 0, true), still("b", "1", 0, true))},
		"still since before the start, by the last one": {[]step{moves("a", "1", 0), kept(still("a", "1", -30, true))}, 1, pictureOf(0, 1, 1, still("a", "1", -30, true))},
		"moved since the last picture was kept":         {[]step{moves("a", "2", 0), kept(still("a", "1", -30, true))}, 1, pictureOf(0, 1, 1)},
		"a kept picture from the future changes nothing": {[]step{moves("a", "1", 0), kept(still("a", "1", 5, true))}, 12, pictureOf(0, 12, 1,
			still("a", "1", 0, false))},
		"a picture that named not all was kept: no look at the others yet": {[]step{moves("a", "1", 0), moves("b", "1", 0), func(p *picture) { p.inherit(api.LeasePicture{StillCount: 1}) }},
			10, pictureOf(2, 10, 2)},
		"a gap within a renewal is none": {[]step{moves("a", "1", 0), away(2), back(12), moves("a", "2", 12)}, 13, pictureOf(0, 13, 1)},
		"a gap longer than a renewal begins the look anew (S15)": {[]step{moves("a", "1", 0), moves("b", "1", 0), away(2), back(12.1), moves("a", "2", 12.1), moves("b", "1", 12.1)},
			13, pictureOf(12.1, 13, 2, still("b", "1", 0, false))},
		"a gap counts from its beginning, however often it is tried": {[]step{moves("a", "1", 0), away(2), away(11), back(12.1)}, 12.1, pictureOf(12.1, 12.1, 1, still("a", "1", 0, false))},
		"a watch that was dead without a word begins it anew too":    {[]step{moves("a", "1", 0), moves("b", "1", 0), moves("a", "2", 20.1)}, 20.1, pictureOf(20.1, 20.1, 2, still("b", "1", 0, true))},
		"the last live node of two is enough to know that we watch":  {[]step{moves("a", "1", 0), moves("b", "1", 0), moves("a", "2", 10.4), moves("a", "3", 20.8)}, 21, pictureOf(0, 21, 2, still("b", "1", 0, true))},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPicture(t0)
			p.stands(t0)
			for _, s := range c.steps {
				s(p)
			}
			got := p.now(func(n string) bool { return n != "ghost" }, sec(c.at))
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestANewPictureIsBlindUntilTheWatchStands(t *testing.T) {
	p := newPicture(t0)
	if p.paused.IsZero() {
		t.Error("it claims to see before anybody watches")
	}
	p.stands(sec(3))
	if !p.paused.IsZero() || !p.since.Equal(sec(3)) {
		t.Errorf("paused %v, since %v", p.paused, p.since)
	}
}

func TestPicturesThatShowTheSame(t *testing.T) {
	a := pictureOf(0, 20, 2, still("a", "1", 0, false))
	for name, c := range map[string]struct {
		b    api.LeasePicture
		want bool
	}{
		"a later look at the same": {pictureOf(0, 21, 2, still("a", "1", 0, false)), true},
		"one more Lease":           {pictureOf(0, 20, 3, still("a", "1", 0, false)), false},
		"suspect became stale":     {pictureOf(0, 20, 2, still("a", "1", 0, true)), false},
		"another one stands":       {pictureOf(0, 20, 2, still("b", "1", 0, false)), false},
		"it moved and stopped":     {pictureOf(0, 20, 2, still("a", "2", 0, false)), false},
		"the look began anew":      {pictureOf(9, 20, 2, still("a", "1", 0, false)), false},
		"it spanned no renewal":    {pictureOf(0, 9, 2, still("a", "1", 0, false)), false},
		"none was kept before":     {api.LeasePicture{}, false},
	} {
		if got := same(c.b, a); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAPictureOfAThousandStillLeases names the first of them, and says how many there are.
func TestAPictureOfAThousandStillLeases(t *testing.T) {
	p := newPicture(t0)
	p.stands(t0)
	for i := range 1000 {
		p.observe(fmt.Sprintf("n%03d", i), "1", renewal, t0)
	}
	l := p.now(func(string) bool { return true }, sec(12))
	if len(l.Still) != api.MaxStill || l.StillCount != 1000 || !l.Cut() || l.Still[0].NodeName != "n000" || l.Still[511].NodeName != "n511" {
		t.Errorf("%d of %d are named", len(l.Still), l.StillCount)
	}
	more := p.now(func(node string) bool { return node != "n999" }, sec(12))
	if more.Total = l.Total; same(l, more) {
		t.Error("one that has no name moves again, and that is no news")
	}
}

// TestTheLongestRenewal is known without a look at all Leases, whatever came and went.
func TestTheLongestRenewal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPicture(time.Unix(0, 0))
	for step := range 2000 {
		name := string(rune('a' + r.IntN(8)))
		if r.IntN(3) == 0 {
			p.forget(name)
		} else {
			p.observe(name, strconv.Itoa(step), time.Duration(1+r.IntN(5))*time.Second, time.Unix(int64(step), 0))
		}
		var want time.Duration
		for _, o := range p.leases {
			want = max(want, o.renewal)
		}
		if got := p.renewal(); got != want {
			t.Fatalf("step %d: %s, want %s of %v", step, got, want, p.leases)
		}
	}
}
