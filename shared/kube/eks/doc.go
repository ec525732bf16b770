// Package eks connects to the API server of an EKS cluster as an IAM role.
//
// What a reader must not get wrong: the bearer token is a presigned request of the role.
// Everybody who has it can act as that role in this one cluster, for a quarter of an hour. It
// goes to the cluster's API server and nowhere else.
package eks
