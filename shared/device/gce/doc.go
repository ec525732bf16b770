// Package gce switches Google Compute Engine instances by its REST API.
//
// What a reader must not get wrong: only TERMINATED is off. An instance that is STOPPING
// still runs and writes (S2: what is unknown is never taken for off). An instance that is
// SUSPENDED continues where it was. An instance that the API does not find proves nothing.
package gce
