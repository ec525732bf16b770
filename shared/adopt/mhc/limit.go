package mhc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limit is up to how many unhealthy Machines any is remediated.
type Limit struct {
	// Max is a number of Machines or, with Percent, a share of all, rounded down.
	Max     int
	Percent bool
	// MinHealthy, where it is set, is how many must be healthy; a share is rounded up.
	MinHealthy *Limit
	// Range, where it is set, replaces them: from its first to its second number.
	Range *[2]int
}

// most is more Machines than a FencePolicy counts.
const most = 1_000_000

// Of returns the fewest and the most unhealthy Machines, of so many, with which one is remediated.
func (l Limit) Of(total int) (from, to int) {
	if l.Range != nil {
		return l.Range[0], l.Range[1]
	}
	to = l.Max
	if l.Percent {
		to = l.Max * total / 100
	}
	if m := l.MinHealthy; m != nil {
		healthy := m.Max
		if m.Percent {
			healthy = (m.Max*total + 99) / 100
		}
		to = max(0, min(to, total-healthy))
	}
	return 0, to
}

func (l Limit) String() string {
	switch {
	case l.Range != nil:
		return fmt.Sprintf("[%d-%d]", l.Range[0], l.Range[1])
	case l.MinHealthy != nil && l.Max == 100 && l.Percent:
		return "minHealthy " + l.MinHealthy.String()
	case l.Percent:
		return fmt.Sprintf("%d%%", l.Max)
	}
	return strconv.Itoa(l.Max)
}

var (
	rangeForm   = regexp.MustCompile(`^\[([0-9]{1,6})-([0-9]{1,6})\]$`)
	percentForm = regexp.MustCompile(`^([0-9]{1,3})%$`)
	numberForm  = regexp.MustCompile(`^[0-9]{1,6}$`)
)

// limitOf is the limit of a version's fields: a range wins, and no field at all is 100 %.
func limitOf(group string, is common) (l Limit, err error) {
	if is.inRange != "" {
		m := rangeForm.FindStringSubmatch(is.inRange)
		if m == nil {
			return l, refused(is.names.inRange, "%.40q is no range, such as [3-5]", is.inRange)
		}
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		if to < from {
			return l, refused(is.names.inRange, "%s ends before it begins", is.inRange)
		}
		return Limit{Range: &[2]int{from, to}}, nil
	}
	l = Limit{Max: 100, Percent: true}
	if is.max != nil {
		if l, err = amount(group, is.names.max, *is.max); err != nil {
			return l, err
		}
	}
	if is.minHealthy != nil {
		m, err := amount(group, "spec.minHealthy", *is.minHealthy)
		if err != nil {
			return l, err
		}
		l.MinHealthy = &m
	}
	return l, nil
}

// amount reads a number or a percentage. OpenShift takes a number in quotes too.
func amount(group, field string, v intstr.IntOrString) (Limit, error) {
	if v.Type == intstr.Int {
		if v.IntVal < 0 || v.IntVal > most {
			return Limit{}, refused(field, "%d is no number of Machines from 0 to %d", v.IntVal, most)
		}
		return Limit{Max: int(v.IntVal)}, nil
	}
	if percentForm.MatchString(v.StrVal) {
		share, _ := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
		return Limit{Max: share, Percent: true}, nil
	}
	if n, _ := strconv.Atoi(v.StrVal); group == OpenShift && numberForm.MatchString(v.StrVal) {
		return Limit{Max: n}, nil
	}
	return Limit{}, refused(field, "%.40q is neither a number nor a percentage", v.StrVal)
}
