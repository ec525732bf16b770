package bundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// logLines is how much of each log is kept.
const logLines = 5000

// writer collects files into an archive.
type writer struct {
	*cluster.Client
	tar *tar.Writer
	now time.Time
	// missing says what could not be read, and why.
	missing []string
	// files are the names of those that were written.
	files []string
	err   error
}

// Write writes the archive, and returns the names of its files and what could not be read.
// namespace is that of nodefence; version is the plugin's. It is an error if no object of any of
// nodefence's kinds can be read, or if ctx ends before all was read.
func Write(ctx context.Context, out io.Writer, c *cluster.Client, namespace, version string) (files, missing []string, err error) {
	zip := gzip.NewWriter(out)
	w := &writer{Client: c, tar: tar.NewWriter(zip), now: time.Now()}
	w.versions(version)
	if !w.kinds(ctx) && ctx.Err() == nil {
		return nil, nil, fmt.Errorf("no object of nodefence can be read: %s", w.missing[len(w.missing)-1])
	}
	w.told(ctx)
	w.nodes(ctx)
	w.events(ctx)
	w.bindings(ctx, namespace)
	w.pods(ctx, namespace)
	w.file("missing.txt", []byte(strings.Join(append(w.missing, ""), "\n")))
	return w.files, w.missing, errors.Join(ctx.Err(), w.err, w.tar.Close(), zip.Close())
}

// file adds one file, without whatever looks like a credential.
func (w *writer) file(name string, text []byte) {
	text = Redact(text)
	h := &tar.Header{Name: "nodefence-bundle/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: w.now}
	if err := w.tar.WriteHeader(h); err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	_, err := w.tar.Write(text)
	w.err = errors.Join(w.err, err)
	w.files = append(w.files, name)
}

// lacks notes what could not be read, and reports whether that is so.
func (w *writer) lacks(what string, err error) bool {
	if err == nil {
		return false
	}
	w.missing = append(w.missing, fmt.Sprintf("%s: %v", what, cluster.Explain(err)))
	return true
}

// list adds a list of things as YAML.
func (w *writer) list(name string, all []any, err error) {
	if w.lacks(name, err) {
		return
	}
	text, err := yaml.Marshal(all)
	if !w.lacks(name, err) {
		w.file(name, text)
	}
}

func (w *writer) versions(version string) {
	text := "kubectl-fence " + version + "\n"
	if v, err := w.Kube.Discovery().ServerVersion(); !w.lacks("the version of the API server", err) {
		text += "API server " + v.GitVersion + "\n"
	}
	w.file("version.txt", []byte(text))
}

// kinds are all objects of nodefence. It reports whether any of them could be read.
func (w *writer) kinds(ctx context.Context) bool {
	read := false
	for _, kind := range Kinds {
		raw, err := w.Raw(ctx, kind)
		if w.lacks(kind, err) {
			continue
		}
		if text, err := trimmed(raw); !w.lacks(kind, err) {
			w.file(kind+".yaml", text)
			read = true
		}
	}
	return read
}

// told is what status, why and history say.
func (w *writer) told(ctx context.Context) {
	s, err := w.Look(ctx)
	if w.lacks("status and why", err) {
		return
	}
	rows := s.Rows()
	text, err := yaml.Marshal(map[string]any{"notes": s.Notes(), "nodes": rows, "history": view.History(s.Reports, s.Fences, "")})
	if !w.lacks("status", err) {
		w.file("status.yaml", text)
	}
	for _, r := range rows {
		if a, err := s.Why(r.Node); r.State != view.Watched && err == nil {
			w.file("why/"+r.Node+".txt", []byte(a.Words()))
		}
	}
}

func (w *writer) nodes(ctx context.Context) {
	l, err := w.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	w.list("nodes.yaml", each(l.Items, node), err)
	leases, err := w.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.list("leases.yaml", nil, err)
		return
	}
	var all []any
	for i := range leases.Items {
		all = append(all, map[string]any{"name": leases.Items[i].Name, "spec": leases.Items[i].Spec})
	}
	w.list("leases.yaml", all, nil)
}

// each makes something of each element.
func each[T any](all []T, of func(*T) map[string]any) []any {
	var out []any
	for i := range all {
		out = append(out, of(&all[i]))
	}
	return out
}

func (w *writer) events(ctx context.Context) {
	l, err := w.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	var all []any
	if err == nil {
		for i := range l.Items {
			if ours(&l.Items[i]) {
				all = append(all, event(&l.Items[i]))
			}
		}
	}
	w.list("events.yaml", all, err)
}

func (w *writer) bindings(ctx context.Context, namespace string) {
	l, err := w.Kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	var all []any
	if err == nil {
		for _, cm := range l.Items {
			all = append(all, shown(cm))
		}
	}
	w.list("configmaps.yaml", all, err)
}

// own selects nodefence's pods: what other pods of the namespace log is not its.
const own = "app.kubernetes.io/part-of=nodefence"

// pods are those of nodefence, with their logs.
func (w *writer) pods(ctx context.Context, namespace string) {
	l, err := w.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: own})
	if err != nil {
		w.list("pods.yaml", nil, err)
		return
	}
	w.list("pods.yaml", each(l.Items, pod), nil)
	lines := int64(logLines)
	for i := range l.Items {
		for _, c := range l.Items[i].Spec.Containers {
			name := "logs/" + l.Items[i].Name + "/" + c.Name + ".log"
			text, err := w.Kube.CoreV1().Pods(namespace).GetLogs(l.Items[i].Name, &corev1.PodLogOptions{Container: c.Name, TailLines: &lines}).Do(ctx).Raw()
			if !w.lacks(name, err) {
				w.file(name, text)
			}
		}
	}
}
