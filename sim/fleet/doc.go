// Package fleet simulates many replicas behind a router, on one event loop.
package fleet
