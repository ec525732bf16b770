package jobs

import (
	"net/http"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestAJobIsBegunOnce: an existing Job answers, and a Job that can't be created is a failed
// check; a failure to ask the API server answers nothing.
func TestAJobIsBegunOnce(t *testing.T) {
	const name = "u-3-a2-1"
	template := corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}}
	ended := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}}
	for says, c := range map[string]struct {
		job      *batchv1.Job
		template bool
		// create is what the API server says of a new Job.
		create int32
		reason metav1.StatusReason
		answer api.Answer
		words  string
		fails  bool
	}{
		"it is begun":                {template: true, words: "Job " + name},
		"somebody has begun it":      {template: true, create: http.StatusConflict, reason: metav1.StatusReasonAlreadyExists, words: "Job " + name},
		"it is refused":              {template: true, create: http.StatusForbidden, reason: metav1.StatusReasonForbidden, answer: api.AnswerError, words: "create "},
		"it is invalid":              {template: true, create: http.StatusUnprocessableEntity, reason: metav1.StatusReasonInvalid, answer: api.AnswerError, words: "create "},
		"the API server fails":       {template: true, create: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, fails: true},
		"there is no PodTemplate":    {answer: api.AnswerError, words: "there is no PodTemplate tpl in namespace checks"},
		"it has ended, and answered": {job: ended, answer: api.AnswerActivity, words: "exit 0"},
	} {
		t.Run(says, func(t *testing.T) {
			made := 0
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost && c.create != 0:
					kubetest.Refuse(w, c.create, c.reason)
				case r.Method == http.MethodPost:
					made++
					kubetest.Answer(w, batchv1.Job{})
				case c.job != nil && strings.HasSuffix(r.URL.Path, "/namespaces/checks/jobs/"+name):
					kubetest.Answer(w, c.job)
				case c.template && strings.HasSuffix(r.URL.Path, "/namespaces/checks/podtemplates/tpl"):
					kubetest.Answer(w, template)
				default:
					kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
				}
			}))
			f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}, Spec: api.NodeFenceSpec{NodeName: "n"}, Status: api.NodeFenceStatus{FenceNumber: 3}}
			r := CheckRunner{Client: client, Namespace: "checks", Fence: f, Round: &api.CheckRound{Number: 2}}
			answer, words, err := r.FromTemplate(t.Context(), "1", &api.JobCheck{PodTemplateName: "tpl"})
			if (err != nil) != c.fails || answer != c.answer || !strings.Contains(words, c.words) {
				t.Errorf("%q %q %v, want %q %q", answer, words, err, c.answer, c.words)
			}
			if begun := c.template && c.create == 0; begun != (made == 1) {
				t.Errorf("%d Jobs were made", made)
			}
		})
	}
}
