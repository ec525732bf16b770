// Package gce switches Google Compute Engine instances by its REST API.
//
// What a reader must not get wrong: only TERMINATED is off. An instance that is
// STOPPING still runs and writes (S2), one that is SUSPENDED goes on where it
// was, and one that the API does not find proves nothing.
package gce
