package pki

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User is somebody who gets a kubeconfig, at that path.
type User struct {
	Kubeconfig string
	Name       string
	Groups     []string
}

// Plan says which keys and kubeconfigs a lab needs.
type Plan struct {
	// Server is the API server's URL, which all kubeconfigs have.
	Server string
	// Address is the API server's beside loopback; none if nil.
	Address net.IP
	Users   []User
	// Kubelets maps nodes to the addresses at which their kubelets serve.
	Kubelets map[string]net.IP
}

// KubeletClient is the name of the pair by which the API server speaks with kubelets.
const KubeletClient = "apiserver-kubelet-client"

// Write makes everything that a control plane, its users and its kubelets need, in dir.
func Write(dir string, plan Plan) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder for keys: %w", err)
	}
	ca, err := NewAuthority("nodefence-lab")
	if err != nil {
		return err
	}
	if err := writeServing(dir, ca, plan.Address); err != nil {
		return err
	}
	if err := writeFrontProxy(dir); err != nil {
		return err
	}
	if err := writeServiceAccountKeys(dir); err != nil {
		return err
	}
	for _, user := range plan.Users {
		if err := writeKubeconfig(plan.Server, ca, user); err != nil {
			return err
		}
	}
	return writeKubelets(dir, ca, plan.Kubelets)
}

func writeServing(dir string, ca Authority, address net.IP) error {
	// The second is what the service "kubernetes" gets: the first of its range.
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	if address != nil {
		addresses = append(addresses, address)
	}
	serving, err := ca.Server(addresses, "kubernetes.default.svc", "kubernetes", "kubernetes.default", "localhost")
	if err != nil {
		return err
	}
	if err := writePair(dir, "ca", ca.Pair); err != nil {
		return err
	}
	return writePair(dir, "apiserver", serving)
}

// writeKubelets writes a serving pair for each kubelet, and the API server's for speaking with them.
func writeKubelets(dir string, ca Authority, kubelets map[string]net.IP) error {
	if len(kubelets) == 0 {
		return nil
	}
	client, err := ca.Client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	if err := writePair(dir, KubeletClient, client); err != nil {
		return err
	}
	for node, address := range kubelets {
		serving, err := ca.Server([]net.IP{address}, node)
		if err != nil {
			return err
		}
		if err := writePair(dir, node, serving); err != nil {
			return err
		}
	}
	return nil
}

// writeFrontProxy uses another authority: with the same one, every client of
// the API server could claim to be anyone by a header.
func writeFrontProxy(dir string) error {
	ca, err := NewAuthority("nodefence-lab-front-proxy")
	if err != nil {
		return err
	}
	client, err := ca.Client("front-proxy-client")
	if err != nil {
		return err
	}
	if err := writePair(dir, "front-proxy-ca", ca.Pair); err != nil {
		return err
	}
	return writePair(dir, "front-proxy-client", client)
}

func writeServiceAccountKeys(dir string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	if err := write(dir, "service-account.key", private); err != nil {
		return err
	}
	return write(dir, "service-account.pub", encode("PUBLIC KEY", der))
}

func writeKubeconfig(server string, ca Authority, user User) error {
	pair, err := ca.Client(user.Name, user.Groups...)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca.Cert}
	config.AuthInfos[user.Name] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: user.Name}
	config.CurrentContext = "lab"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	return write(filepath.Dir(user.Kubeconfig), filepath.Base(user.Kubeconfig), raw)
}

func writePair(dir, name string, pair Pair) error {
	if err := write(dir, name+".crt", pair.Cert); err != nil {
		return err
	}
	return write(dir, name+".key", pair.Key)
}

func write(dir, name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
