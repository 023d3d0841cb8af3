package validate

import (
	"sync"

	"scoville/hardware"
	"scoville/profiles"
)

// library keeps the engine profiles read: validation asks for them by the thousand.
type library struct {
	mu      sync.Mutex
	engines map[[2]string]hardware.EngineProfile
	all     []hardware.EngineProfile
}

func newLibrary() *library {
	return &library{engines: map[[2]string]hardware.EngineProfile{}}
}

func (l *library) engine(name, version string) (hardware.EngineProfile, error) {
	if l == nil {
		return profiles.Engine(name, version)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := [2]string{name, version}
	if e, ok := l.engines[k]; ok {
		return e, nil
	}
	e, err := profiles.Engine(name, version)
	if err == nil {
		l.engines[k] = e
	}
	return e, err
}

// versionAt is the newest profile's version of an engine that was out on a date (YYYY-MM-DD), for rows that state none; "" when
// the date or the release is unknown, which means the newest of all.
func (l *library) versionAt(name, date string) (string, error) {
	if l == nil || len(date) < 7 {
		return "", nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		all, err := profiles.Engines()
		if err != nil {
			return "", err
		}
		l.all = all
	}
	best := hardware.EngineProfile{}
	for _, e := range l.all {
		if e.Name == name && e.Released != "" && e.Released <= date[:min(len(date), len(e.Released))] && e.Released > best.Released {
			best = e
		}
	}
	return best.Version, nil
}
