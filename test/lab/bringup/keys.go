package bringup

import (
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/pki"
)

const (
	admin             = "admin"
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
	machines          = "machines"
)

// machinesUser simulates all kubelets at once. It is in their group so that the
// API server's priorities treat it as one; the Node authorizer, which wants one
// user per node, is off.
const machinesUser = "lab-machines"

var users = []pki.User{
	{File: admin, Name: "lab-admin", Groups: []string{"system:masters"}},
	{File: controllerManager, Name: "system:kube-controller-manager"},
	{File: scheduler, Name: "system:kube-scheduler"},
	{File: machines, Name: machinesUser, Groups: []string{"system:nodes"}},
}

type keys struct{ dir string }

func keyFolder(dir labdir.Dir) keys { return keys{dir.File("pki")} }

func (k keys) file(name string) string       { return filepath.Join(k.dir, name) }
func (k keys) kubeconfig(user string) string { return k.file(user + ".kubeconfig") }
