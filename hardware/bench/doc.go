// Package bench loads a server that speaks the OpenAI completions protocol and records what it does, request by request.
//
// Requests go out on an absolute schedule: a late answer never delays the next request of an open loop. Latency is kept from the send and from
// the schedule. A chunk of the stream isn't a token: tokens are counted by the server's usage figures where it sends them.
package bench
