// Package writers keeps the record of which machine wrote to which volume when.
//
// Two machines on one volume at one moment is an overlap, and what fencing is
// there to prevent; two pods of one machine are none, as its kernel orders them.
package writers
