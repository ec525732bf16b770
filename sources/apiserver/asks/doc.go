// Package asks keeps the FenceRequests that are not done with, and puts an event about one into the
// outbox when the object has changed, or the fence of its node.
//
// What a reader must not get wrong: an event only wakes the function request, which reads the object
// and the fence itself. A change that only the function makes, in the status or the finalizers, wakes
// nobody; otherwise each write would lead to the next one.
package asks
