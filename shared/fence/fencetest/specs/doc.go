// Package specs has one fence of each kind that Decide treats in a way of its own: what the
// gate decided and what people ask, and no record yet.
//
// What a reader must not get wrong: the walk tells its worlds apart by what stands here, such
// as a policy's name. So a new kind is a new function, and no old one is changed for it.
package specs
