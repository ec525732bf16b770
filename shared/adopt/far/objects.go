package far

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The API of Fence Agents Remediation.
const (
	Group        = "fence-agents-remediation.medik8s.io"
	GroupVersion = Group + "/v1alpha1"
	Kind         = "FenceAgentsRemediation"
	TemplateKind = "FenceAgentsRemediationTemplate"
	// Finalizer holds an object until what was placed for it is undone.
	Finalizer = Group + "/far-finalizer"
	// Taint is on the node, with effect NoSchedule, as long as an object about the node lives.
	Taint = "remediation.medik8s.io/fence-agents-remediation"
	// LeaderLease is the Lease that the program itself holds while it runs.
	LeaderLease = "cb305759.medik8s.io"
	// DefaultSecret is the shared Secret where an object names none. It need not exist, also where it is
	// named: the CRD of its versions 0.6.0 and 0.6.1 wrote this name into each object that named none.
	DefaultSecret = "fence-agents-credentials-shared"
	// Exclude is the label of a node that no remediator touches.
	Exclude = "remediation.medik8s.io/exclude-from-remediation"
)

// Object is a FenceAgentsRemediation: it asks for the fence of one node.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status"`
}

// Template is what NodeHealthCheck makes such objects of.
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		// StatusValidationSample says of how many nodes the device is read by the template: a number, or
		// a percentage as text. It is read by Sample, so that a wrong one keeps no template from being read.
		StatusValidationSample json.RawMessage `json:"statusValidationSample,omitempty"`
		Template               struct {
			Spec Spec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status TemplateStatus `json:"status"`
}

// TemplateStatus says how a template's sample stands.
type TemplateStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ValidationFailed are the nodes that failed, each with why.
	ValidationFailed map[string]string `json:"validationFailed,omitempty"`
	// ValidationPassed are the nodes that passed, as long as others are not known yet.
	ValidationPassed map[string]string `json:"validationPassed,omitempty"`
}

// Spec says which agent switches the machine, and with which parameters.
type Spec struct {
	// Agent is the name of a ClusterLabs agent, such as fence_ipmilan.
	Agent string `json:"agent"`
	// RetryCount is how often the agent is tried; 5 unless set.
	RetryCount *int64 `json:"retrycount,omitempty"`
	// RetryInterval lies between two tries, as in 5s; that unless set.
	RetryInterval string `json:"retryinterval,omitempty"`
	// Timeout is for each try, as in 60s; that unless set.
	Timeout string `json:"timeout,omitempty"`
	// SharedParameters are for every node, by the agent's long flags.
	SharedParameters map[string]string `json:"sharedparameters,omitempty"`
	// NodeParameters are by parameter and node.
	NodeParameters map[string]map[string]string `json:"nodeparameters,omitempty"`
	// RemediationStrategy is ResourceDeletion, also if empty, or OutOfServiceTaint.
	RemediationStrategy string `json:"remediationStrategy,omitempty"`
	// SharedSecretName is a Secret of the object's namespace with parameters for every node.
	SharedSecretName *string `json:"sharedSecretName,omitempty"`
	// NodeSecretNames are Secrets with parameters for one node, by node.
	NodeSecretNames map[string]string `json:"nodeSecretNames,omitempty"`
}

// Status is what became of an object.
type Status struct {
	Conditions     []metav1.Condition `json:"conditions,omitempty"`
	LastUpdateTime *metav1.Time       `json:"lastUpdateTime,omitempty"`
}

// Words name an object to people.
func (o *Object) Words() string { return Kind + " " + o.Namespace + "/" + o.Name }

// KeptNode is the annotation of an object that was taken up: the node that it was about then.
const KeptNode = "nodefence.io/node"

// Node is the node that an object is about: that of the annotation, or else the object's name. Once
// it is taken up it is about that node for good. An error says why nothing more is asked for: the
// name is none, or it is another one now. What was placed is undone on the node that is returned.
func Node(o *Object) (string, error) {
	node := o.Name
	if noted, ok := o.Annotations[api.NodeNameAnnotation]; ok {
		node = noted
	}
	was := o.Annotations[KeptNode]
	if !isName(was) {
		was = ""
	}
	switch {
	case !isName(node):
		return was, fmt.Errorf("metadata.annotations[%s]: %.80q is not a node's name", api.NodeNameAnnotation, node)
	case was != "" && was != node:
		return was, fmt.Errorf("the object was about node %s when it was taken up, and is about %.80q now: create another object", was, node)
	}
	return node, nil
}

func isName(node string) bool { return len(validation.IsDNS1123Subdomain(node)) == 0 }

// GivenUp tells whether NodeHealthCheck gave it up.
func GivenUp(o *Object) bool {
	_, given := o.Annotations[api.TimedOutAnnotation]
	return given
}

// Held tells whether the finalizer is on it.
func Held(o *Object) bool { return slices.Contains(o.Finalizers, Finalizer) }

// Ended tells whether its last word is said: it is never taken back.
func Ended(o *Object) bool {
	return meta.IsStatusConditionFalse(o.Status.Conditions, api.ConditionProcessing)
}

// Asks tells whether it still asks for a fence, so that its spec says which device is used.
func Asks(o *Object) bool { return o.DeletionTimestamp == nil && !GivenUp(o) && !Ended(o) }

// longestName is what the API server takes of a name.
const longestName = 253

// RequestName is the name of the FenceRequest that is made of an object. It has the object's UID in
// it, so that it is made once, whoever makes it and however often (S7: one fence answers).
func RequestName(o *Object, node string) string {
	short, _, _ := strings.Cut(string(o.UID), "-")
	if name := node + "-far-" + short; len(name) <= longestName {
		return name
	}
	return node
}
