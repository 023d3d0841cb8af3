// Package results reads the result files of load generators into one record type.
//
// Every file format has its own file in this package. A reader takes the figures as the tool wrote them, converts them to SI units and to the
// definitions below, checks that they agree with each other, and repairs or refuses them when they don't.
//
// Definitions (all of scoville):
//
//	TTFT  request sent to first generated token, of any channel (text, reasoning or tool call)
//	E2E   request sent to last generated token
//	TPOT  (E2E - TTFT) / (output tokens - 1), one value a request
//	ITL   gaps between tokens, over all tokens of all requests
//
// A request that is reported as a success without any generated token is a failure.
package results
