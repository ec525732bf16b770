package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nodefence/nodefence/test/rig"
)

// between stands between a program and the API server and keeps what it asks for. It speaks
// TLS and HTTP/2 as the API server does, so that the program works as hard as without it. What
// it gives is the same cluster, reached through it.
func between(c *rig.Cluster, calls *trace, dir string) (through *rig.Cluster, end func(), err error) {
	to, err := url.Parse(c.Config.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("read the API server's address: %w", err)
	}
	transport, err := rest.TransportFor(c.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("reach the API server: %w", err)
	}
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     calls.wrap(transport),
		FlushInterval: -1, // what a watch says is handed on at once
	})
	s.EnableHTTP2 = true
	s.StartTLS()
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{
		Server:                   s.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["lab"] = clientcmdapi.NewAuthInfo()
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	config.CurrentContext = "lab"
	path := filepath.Join(dir, "kubeconfig")
	end = func() {
		late := time.AfterFunc(5*time.Second, s.CloseClientConnections) // a watch ends by itself only after minutes
		defer late.Stop()
		s.CloseClientConnections()
		s.Close()
		_ = os.Remove(path)
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		end()
		return nil, nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	lab := *c.Lab
	lab.Kubeconfig = path
	copied := *c
	copied.Lab = &lab
	return &copied, end, nil
}
