package cost

import "math"

// The components of the TCO, in the order of reports.
const (
	Accelerators = "accelerators"
	Hosts        = "hosts"
	Network      = "network"
	Storage      = "storage"
	Installation = "installation"
	Facility     = "facility"
	SpareParts   = "spare parts"
	SalesTax     = "sales tax"
	Rental       = "rent"
	Energy       = "energy"
	Colocation   = "colocation"
	Maintenance  = "maintenance"
	Software     = "software"
	Hosting      = "hosting"
	Staff        = "staff"
	Bandwidth    = "bandwidth"
	PropertyTax  = "property tax"
	Tax          = "tax on running cost"
)

// lines is the cash of each component; index 0 is before the first month.
type lines struct {
	names  []string
	capex  []bool
	months int
	cash   [][]float64
}

func (l *lines) add(name string, capex bool) []float64 {
	row := make([]float64, l.months+1)
	l.names = append(l.names, name)
	l.capex = append(l.capex, capex)
	l.cash = append(l.cash, row)
	return row
}

// byMonth sums the components of each month.
func (l *lines) byMonth() []float64 {
	out := make([]float64, l.months+1)
	for _, row := range l.cash {
		for m, v := range row {
			out[m] += v
		}
	}
	return out
}

func (l *lines) total() float64 {
	sum := 0.0
	for _, row := range l.cash {
		for _, v := range row {
			sum += v
		}
	}
	return sum
}

// purchase pays for one class over the horizon: what each month needs more than is owned is bought at its start, again
// when its life ends. It returns the purchase value owned in each month, for maintenance and property tax.
//
// Straight-line: the price is paid at once, residual value comes back at the end of life, and at the end of the horizon
// the book value does. Annuity: each purchase is repaid monthly over its life, less the present value of its residual.
func purchase(row []float64, needed []float64, a Asset, method string, yearlyRate, yearlyChange float64) (owned []float64) {
	months := len(needed)
	owned = make([]float64, months)
	if a.Price.Value == 0 {
		return owned
	}
	life := max(1, int(math.Round(a.LifeYears.Value*monthsPerYear)))
	rate := MonthlyRate(yearlyRate)
	units := make([]float64, months) // alive in each month
	for m := range months {
		buy := needed[m] - units[m]
		if buy <= 1e-12 {
			continue
		}
		value := buy * a.Price.Value * math.Pow(1+yearlyChange, float64(m)/monthsPerYear)
		residual := value * a.ResidualShare.Value
		end := min(m+life, months)
		for k := m; k < end; k++ {
			units[k] += buy
			owned[k] += value
		}
		if method == StraightTerm {
			row[m] += value
			age := float64(end - m)
			row[end] -= value - (value-residual)*age/float64(life)
			continue
		}
		payment := Annuity(value-residual*math.Pow(1+rate, -float64(life)), rate, float64(life))
		for k := m; k < end; k++ {
			row[k+1] += payment
		}
	}
	return owned
}

// rent pays a lease for the chips of each month; interruptible leases need more chips to serve as much.
func rent(row []float64, chips []float64, l Lease, share, hours float64) {
	months := len(chips)
	commit := l.CommitMonths
	if commit <= 0 || commit > months {
		commit = months
	}
	for start := 0; start < months; start += commit {
		for m := start; m < min(start+commit, months); m++ {
			bill := RentMonthly(chips[m]*share/l.Availability(), l.USDPerChipHour.Value, hours)
			row[start] += bill * l.UpfrontShare
			row[m+1] += bill * (1 - l.UpfrontShare)
		}
	}
}
