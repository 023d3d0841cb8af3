package cost

import (
	"fmt"
	"time"
)

// StaleDays is the age from which a price is called stale.
const StaleDays = 180

// ParseDate reads YYYY, YYYY-MM or YYYY-MM-DD as the first day it may mean, so that a vague date counts as old.
func ParseDate(s string) (time.Time, error) {
	for _, form := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("date %q is not YYYY, YYYY-MM or YYYY-MM-DD", s)
}
