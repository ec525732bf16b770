// Package writers keeps the record of which machine wrote to which volume when.
//
// Two machines that write to one volume at one time are an overlap, which fencing must prevent.
// Two pods of one machine are none, because its kernel orders their writes.
package writers
