// Scoville tells how many accelerator chips serve a language model within a latency SLA, and what a million tokens cost.
package main

import "os"

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
