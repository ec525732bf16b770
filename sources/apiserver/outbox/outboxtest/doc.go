// Package outboxtest has a broker for tests of what the source sends.
//
// What a reader must not get wrong: this broker keeps nothing and drops no duplicates. What real
// brokers do is shown by the tests of infra/local and by test/e2e.
package outboxtest
