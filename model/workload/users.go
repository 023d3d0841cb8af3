package workload

import (
	"fmt"
	"math"
)

const secondsPerDay = 86400

// DefaultPeakFactor is assumed where nothing is known of the busiest hour: between consumer services (1.3 to 1.7) and
// enterprise code (3.0); see docs/workloads.md.
const DefaultPeakFactor = 2.0

// PeakFromUsers is the peak rate in requests per second that people make: daily active users x requests of each a day
// x peak factor / 86400. The peak factor is the busiest time's rate over the day's mean, at least 1.
func PeakFromUsers(dailyActiveUsers, requestsPerUserPerDay, peakFactor float64) (float64, error) {
	for _, p := range []struct {
		name string
		v    float64
		low  float64
	}{{"daily active users", dailyActiveUsers, 0}, {"requests per user and day", requestsPerUserPerDay, 0}, {"peak factor", peakFactor, 1}} {
		if !(p.v >= p.low) || math.IsInf(p.v, 0) {
			return 0, fmt.Errorf("%s is %g; at least %g is needed", p.name, p.v, p.low)
		}
	}
	return dailyActiveUsers * requestsPerUserPerDay * peakFactor / secondsPerDay, nil
}

// PeakToMean is the busiest hour's rate over the week's mean: from the hourly and weekday multipliers, else as stated,
// else 1.
func (w *Workload) PeakToMean() float64 {
	a := &w.Arrivals
	if len(a.Hourly) == 0 && len(a.Weekday) == 0 {
		return max(1, a.PeakToMean)
	}
	return peakOverMean(a.Hourly) * peakOverMean(a.Weekday)
}

func peakOverMean(v []float64) float64 {
	if len(v) == 0 {
		return 1
	}
	sum, peak := 0.0, 0.0
	for _, x := range v {
		sum += x
		peak = max(peak, x)
	}
	if sum == 0 {
		return 1
	}
	return peak / (sum / float64(len(v)))
}

// UsersPeak returns the mean and peak rate of the workload's users, in requests per second, and whether it has users.
func (w *Workload) UsersPeak() (mean, peak float64, ok bool) {
	u := w.Users
	if u == nil {
		return 0, 0, false
	}
	mean = u.DailyActive * u.PerDay / secondsPerDay
	factor := u.PeakFactor
	if factor == 0 {
		factor = w.PeakToMean()
	}
	return mean, mean * factor, true
}

// Month is the load of one month of a horizon, as multiples of month 0.
type Month struct {
	Month                             int
	Rate, InputLengths, OutputLengths float64
}

// At compounds growth over a number of months. Pass the multiples on as SourceOptions: the rate times Rate, InputScale
// and OutputScale.
func (g *Growth) At(month int) Month {
	if g == nil {
		return Month{month, 1, 1, 1}
	}
	n := float64(month)
	return Month{month, math.Pow(1+g.RatePerMonth, n), math.Pow(1+g.InputPerMonth, n), math.Pow(1+g.OutputPerMonth, n)}
}
