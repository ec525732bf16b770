package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// table has the named columns; those that begin with + are for -o wide.
func table(columns ...string) *metav1.Table {
	t := &metav1.Table{}
	for _, c := range columns {
		d := metav1.TableColumnDefinition{Name: strings.TrimPrefix(c, "+"), Type: "string"}
		if strings.HasPrefix(c, "+") {
			d.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, d)
	}
	return t
}

func add(t *metav1.Table, cells ...any) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	t.Rows = append(t.Rows, metav1.TableRow{Cells: cells})
}

// ago is how long ago a time was, as kubectl says it.
func ago(now time.Time, at *time.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(*at)))
}

// StatusTable is one line for each row.
func StatusTable(rows []Row, now time.Time) *metav1.Table {
	t := table("NODE", "READY", "POLICY", "STATE", "REASON", "SINCE", "+FENCE", "+MESSAGE")
	for _, r := range rows {
		number := ""
		if r.FenceNumber > 0 {
			number = fmt.Sprint(r.FenceNumber)
		}
		add(t, r.Node, r.Ready, r.Policy, r.State, string(r.Reason), ago(now, r.Since), number, r.Message)
	}
	return t
}

// DevicesTable is one line for each device; a node without one has a line too.
func DevicesTable(targets []api.FenceTarget, now time.Time) *metav1.Table {
	t := table("NODE", "ROLE", "DRIVER", "ADDRESS", "STATE", "REASON", "CHECKED", "+IDENTITY", "+MESSAGE")
	for i := range targets {
		x := &targets[i]
		for _, d := range x.Status.Devices {
			var at *time.Time
			if d.LastChecked != nil {
				at = &d.LastChecked.Time
			}
			add(t, x.Name, string(d.Role), d.Driver, d.Address, string(d.State), string(d.Reason), ago(now, at), cmp.Or(d.Identity, d.Enrolled), d.Message)
		}
		if len(x.Status.Devices) > 0 {
			continue
		}
		reason, message := string(api.NotCheckedYet), ""
		if c := unfenceable(x); c != nil {
			reason, message = c.Reason, c.Message
		}
		add(t, x.Name, "", "", "", "", reason, "", "", message)
	}
	return t
}

// HistoryTable is one line for each fence.
func HistoryTable(past []Past, now time.Time) *metav1.Table {
	t := table("WHEN", "NODE", "FENCE", "WHY", "BY", "PROOF", "RELEASED", "TOOK", "OUTCOME", "+CUTS", "+POLICY", "+EVIDENCE", "+MESSAGE")
	for _, p := range past {
		opened, took := "", "open"
		if p.Opened != nil {
			opened = ago(now, p.Opened) + " ago"
		}
		if p.Opened != nil && p.Ended != nil {
			took = duration.HumanDuration(p.Ended.Sub(*p.Opened))
		}
		add(t, opened, p.Node, fmt.Sprint(p.FenceNumber), p.Why, strings.Join(p.By, ", "), p.ProofType(), p.Work, took, string(p.Outcome), fmt.Sprint(p.Cuts), p.Policy, strings.Join(p.Evidence, "; "), p.Message)
	}
	return t
}
