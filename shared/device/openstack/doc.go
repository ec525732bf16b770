// Package openstack switches OpenStack's servers by Nova, with Keystone's tokens.
//
// What a reader must not get wrong: Nova's database goes on saying SHUTOFF, or
// ACTIVE, of a server whose compute host it has lost. Its word counts only while
// the compute service of that host is up (S2), and a caller that may not ask
// that gets no off.
package openstack
