package bringup

import (
	"net"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/pki"
	"github.com/nodefence/nodefence/test/lab/real"
)

const (
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
	machines          = "machines"
)

// machinesUser simulates all kubelets at once. It is in their group so that the
// API server's priorities treat it as one; the Node authorizer wants one user
// per node, so that a role binding gives it its rights.
const machinesUser = "lab-machines"

// keys is the folder of the files that package pki makes.
type keys struct{ dir string }

func keyFolder(dir labdir.Dir) keys { return keys{dir.File("pki")} }

func (k keys) file(name string) string       { return filepath.Join(k.dir, name) }
func (k keys) kubeconfig(user string) string { return k.file(user + ".kubeconfig") }

// adminKubeconfig is the kubeconfig for users of the lab, where they look first.
func adminKubeconfig(dir labdir.Dir) string { return dir.File("kubeconfig") }

// plan is what a lab needs of keys and kubeconfigs.
func plan(dir labdir.Dir, options Options, server string) pki.Plan {
	p := pki.Plan{Server: server, Users: users(dir)}
	if !options.Real {
		return p
	}
	l, keys := layout(dir), keyFolder(dir)
	p.Address, p.Kubelets = l.ControlPlane(), map[string]net.IP{}
	p.Users = append(p.Users, pki.User{Kubeconfig: keys.kubeconfig("kube-proxy"), Name: "system:kube-proxy"})
	for i := range options.Nodes {
		node := real.NodeName(i)
		p.Kubelets[node] = l.Node(i)
		p.Users = append(p.Users, pki.User{Kubeconfig: keys.kubeconfig(node), Name: "system:node:" + node, Groups: []string{"system:nodes"}})
	}
	return p
}

// layout is what real machines of a lab make on this machine.
func layout(dir labdir.Dir) real.Layout { return real.NewLayout(dir.Path) }

func users(dir labdir.Dir) []pki.User {
	keys := keyFolder(dir)
	return []pki.User{
		{Kubeconfig: adminKubeconfig(dir), Name: "lab-admin", Groups: []string{"system:masters"}},
		{Kubeconfig: keys.kubeconfig(controllerManager), Name: "system:kube-controller-manager"},
		{Kubeconfig: keys.kubeconfig(scheduler), Name: "system:kube-scheduler"},
		{Kubeconfig: keys.kubeconfig(machines), Name: machinesUser, Groups: []string{"system:nodes"}},
	}
}
