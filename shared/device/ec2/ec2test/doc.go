// Package ec2test is the part of EC2 that switching an instance needs: some instances,
// their states, security groups and tags, and the Query API over HTTP.
//
// What a reader must not get wrong: nodefence's own authors wrote it, from AWS's public
// documents, and it was never compared with AWS. What passes here may still fail there.
package ec2test
