package bringup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	apiLimit = 3 * time.Minute
	poll     = 50 * time.Millisecond
	// requestLimit is short because the socket is open before anyone serves it.
	requestLimit = 5 * time.Second
	tailBytes    = 2000
)

// condition returns nil once it is met, and else what it still waits for.
type condition func(context.Context) error

// wait asks for the condition until it is met, a process ends or limit is over.
func (s *starting) wait(ctx context.Context, what string, limit time.Duration, met condition) error {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := met(limited)
		if err == nil {
			fmt.Fprintf(s.progress, "%s ready after %.1fs\n", what, time.Since(begin).Seconds())
			return nil
		}
		select {
		case <-tick.C:
		case ended := <-s.ended:
			return fmt.Errorf("wait for %s: %w", what, ended)
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("wait for %s: %w", what, ctx.Err())
			}
			return fmt.Errorf("wait for %s: not within %s, last: %w%s", what, limit, err, s.tails())
		}
	}
}

// tails has the ends of the logs for errors: the logs themselves are removed with the lab's
// folder.
func (s *starting) tails() string {
	var all bytes.Buffer
	for _, p := range s.record.Processes {
		fmt.Fprintf(&all, "\nthe log of %s ends with:\n%s", p.Name, tail(p.Log))
	}
	return all.String()
}

func tail(path string) []byte {
	raw, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(raw[max(0, len(raw)-tailBytes):])
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.Timeout = requestLimit
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	return client, nil
}

func apiReady(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
}

// serviceAccountExists matters because no pod can be made before it does.
func serviceAccountExists(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

func nodesReady(client kubernetes.Interface, want int) condition {
	return func(ctx context.Context) error {
		// From the API server's cache: etcd need not read all of them each time.
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		ready := 0
		for i := range nodes.Items {
			if schedulable(&nodes.Items[i]) {
				ready++
			}
		}
		if ready < want {
			return fmt.Errorf("%d of %d nodes are ready", ready, want)
		}
		return nil
	}
}

// noNodes asks the API server's cache, which nodesReady reads too.
func noNodes(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil && len(nodes.Items) > 0 {
			err = fmt.Errorf("%d nodes are left", len(nodes.Items))
		}
		return err
	}
}

// schedulable also waits until the taints are gone that a new node has for a moment.
func schedulable(node *corev1.Node) bool {
	if len(node.Spec.Taints) > 0 {
		return false
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// machinesAllowed matters because the API server's authorizer learns of a new
// binding by a watch: on a busy machine some seconds after it was written.
func machinesAllowed(client kubernetes.Interface) condition {
	return func(ctx context.Context) error {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               machinesUser,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !review.Status.Allowed {
			return errors.New("the API server does not know of " + machinesUser + "'s rights yet")
		}
		return nil
	}
}

// allowMachines lets the simulated machines do all that kubelets and a storage
// driver do. The lab's subject is not what a kubelet may do.
func allowMachines(ctx context.Context, client kubernetes.Interface) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: machinesUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: machinesUser}},
	}
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allow machines: %w", err)
	}
	return nil
}
