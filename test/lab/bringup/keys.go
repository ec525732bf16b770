package bringup

import (
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/pki"
)

const (
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
	machines          = "machines"
)

// machinesUser simulates all kubelets at once. It is in their group so that the
// API server's priorities treat it as one; the Node authorizer, which wants one
// user per node, is off.
const machinesUser = "lab-machines"

// keys is the folder of the files that package pki makes.
type keys struct{ dir string }

func keyFolder(dir labdir.Dir) keys { return keys{dir.File("pki")} }

func (k keys) file(name string) string       { return filepath.Join(k.dir, name) }
func (k keys) kubeconfig(user string) string { return k.file(user + ".kubeconfig") }

// adminKubeconfig is the kubeconfig for users of the lab, where they look first.
func adminKubeconfig(dir labdir.Dir) string { return dir.File("kubeconfig") }

func users(dir labdir.Dir) []pki.User {
	keys := keyFolder(dir)
	return []pki.User{
		{Kubeconfig: adminKubeconfig(dir), Name: "lab-admin", Groups: []string{"system:masters"}},
		{Kubeconfig: keys.kubeconfig(controllerManager), Name: "system:kube-controller-manager"},
		{Kubeconfig: keys.kubeconfig(scheduler), Name: "system:kube-scheduler"},
		{Kubeconfig: keys.kubeconfig(machines), Name: machinesUser, Groups: []string{"system:nodes"}},
	}
}
