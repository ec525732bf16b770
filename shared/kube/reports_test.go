package kube

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAReportIsWrittenOnce: one that is there stays as it is.
func TestAReportIsWrittenOnce(t *testing.T) {
	f := newFakeAPI(t)
	if r, err := f.FenceReport(t.Context(), "u-1"); err != nil || r != nil {
		t.Errorf("before: %v, %v", r, err)
	}
	f.answer[reportsPath] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusConflict, "AlreadyExists") }
	if err := f.CreateFenceReport(t.Context(), &api.FenceReport{}); !errors.Is(err, ErrConflict) {
		t.Errorf("one that is there: %v", err)
	}
}

// TestAgesOfReportsAreReadByPages, up to a bound. A cluster without the kind has none.
func TestAgesOfReportsAreReadByPages(t *testing.T) {
	f := newFakeAPI(t)
	pages := 0
	f.answer[reportsPath] = func(w http.ResponseWriter, r request) {
		if got := r.Query.Get("continue"); pages > 0 && got != fmt.Sprint(pages) || r.Query.Get("limit") != "500" {
			t.Errorf("page %d: %v", pages, r.Query)
		}
		pages++
		fmt.Fprintf(w, `{"metadata":{"continue":"%d"},"items":[{"metadata":{"name":"a%d"}},{"metadata":{"name":"b%d"}}]}`, pages, pages, pages)
	}
	if all, err := f.TrailAges(t.Context(), FenceReports, 5); err != nil || len(all) != 6 || all[5].Name != "b3" {
		t.Errorf("%v, %v", all, err)
	}
	f.answer[reportsPath] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusNotFound, "NotFound") }
	if all, err := f.TrailAges(t.Context(), FenceReports, 5); err != nil || len(all) > 0 {
		t.Errorf("without the kind: %v, %v", all, err)
	}
}
