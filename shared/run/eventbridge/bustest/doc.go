// Package bustest serves EventBridge's PutEvents, as the AWS SDK speaks it, for
// tests.
//
// What a reader must not get wrong: it checks what the real service refuses by
// its public documents, and knows no rules, no IAM and no throttling.
package bustest
