// Package openstack switches OpenStack's servers by Nova, with Keystone's tokens.
//
// What a reader must not get wrong: Nova's database still says SHUTOFF, or ACTIVE, of a
// server whose compute host it has lost. Nova's answer counts only while the compute
// service of that host is up (S2: what is unknown is never taken for off). A caller who may
// not read the service's state gets no off.
package openstack
