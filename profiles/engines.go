package profiles

import (
	"fmt"
	"strconv"
	"strings"

	"scoville/hardware"
	"scoville/model/tomlfile"
)

// Engines lists the shipped engine profiles as "name@version" in the order of their file names.
func Engines() ([]hardware.EngineProfile, error) {
	all, err := names("engines")
	if err != nil {
		return nil, err
	}
	var out []hardware.EngineProfile
	for _, n := range all {
		data, err := files.ReadFile("engines/" + n + ".toml")
		if err != nil {
			return nil, fmt.Errorf("shipped engine: %w", err)
		}
		e, err := decodeEngine("profiles/engines/"+n+".toml", data)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// ReadEngine loads an engine profile of the user's own.
func ReadEngine(file string) (hardware.EngineProfile, error) {
	var e hardware.EngineProfile
	if err := tomlfile.ReadFile(file, &e); err != nil {
		return e, err
	}
	if err := e.Check(); err != nil {
		return e, &tomlfile.Error{File: file, Problem: err.Error()}
	}
	return e, nil
}

func decodeEngine(name string, data []byte) (hardware.EngineProfile, error) {
	var e hardware.EngineProfile
	if err := tomlfile.Decode(name, data, &e); err != nil {
		return e, err
	}
	if err := e.Check(); err != nil {
		return e, &tomlfile.Error{File: name, Problem: err.Error()}
	}
	return e, nil
}

// Engine finds the profile of an engine version: the shipped version nearest at or below the one asked for, else the oldest.
// version "" or one without a number ("nightly-5b8c30d") means the newest. The profile returned says in Version which one it is.
func Engine(name, version string) (hardware.EngineProfile, error) {
	all, err := Engines()
	if err != nil {
		return hardware.EngineProfile{}, err
	}
	var best *hardware.EngineProfile
	var known []string
	for i := range all {
		e := &all[i]
		known = append(known, e.Name)
		if !answersTo(e, name) {
			continue
		}
		if best == nil || closer(e.Version, best.Version, version) {
			best = e
		}
	}
	if best != nil {
		return *best, nil
	}
	if near := tomlfile.Nearest(name, known); near != "" {
		return hardware.EngineProfile{}, fmt.Errorf("unknown engine %q (did you mean %q?)", name, near)
	}
	return hardware.EngineProfile{}, fmt.Errorf("unknown engine %q; the shipped engines are vllm, tensorrt-llm, sglang, llama.cpp", name)
}

func answersTo(e *hardware.EngineProfile, name string) bool {
	if plain(e.Name) == plain(name) {
		return true
	}
	for _, a := range e.Aliases {
		if plain(a) == plain(name) {
			return true
		}
	}
	return false
}

// closer reports whether version a serves a request for want better than b.
func closer(a, b, want string) bool {
	if want == "" || want[0] < '0' || want[0] > '9' {
		return compareVersions(a, b) > 0
	}
	aBelow, bBelow := compareVersions(a, want) <= 0, compareVersions(b, want) <= 0
	switch {
	case aBelow && bBelow:
		return compareVersions(a, b) > 0
	case aBelow != bBelow:
		return aBelow
	default:
		return compareVersions(a, b) < 0
	}
}

// compareVersions compares dotted numbers; what follows the digits of a part ("0rc20", "post1") is ignored.
func compareVersions(a, b string) int {
	p, q := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(p), len(q)) {
		x, y := versionPart(p, i), versionPart(q, i)
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}

func versionPart(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := parts[i]
	for j, r := range digits {
		if r < '0' || r > '9' {
			digits = digits[:j]
			break
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // no digits at all: a development build
	}
	return n
}
