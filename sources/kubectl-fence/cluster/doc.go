// Package cluster is a person's client of the API server: it reads nodefence's objects and the
// nodes, follows changes, and writes what people may write.
//
// What a reader must not get wrong: it acts with the person's own credentials, under a field
// manager of its own (FieldManager), so that no write of a person counts as nodefence's. Unlike
// shared/kube, which is the functions' client, it creates nothing that a read has not found.
package cluster
