package cost

// Result is what a fleet costs. Money is rounded to cents and sums exactly; prices per token are not rounded.
// Definitions says in words what each price means.
type Result struct {
	Name          string  `json:"name,omitempty"`
	Ownership     string  `json:"ownership"`
	Method        string  `json:"method,omitempty"` // of capex; none when renting
	Currency      string  `json:"currency"`
	HorizonMonths int     `json:"horizon_months"`
	TCO           Money   `json:"tco"`
	NPV           Money   `json:"npv"` // of the costs, at DiscountRate a year
	DiscountRate  float64 `json:"discount_rate"`
	Monthly       Money   `json:"monthly"` // TCO / months
	Capex         Money   `json:"capex"`   // accounted by Method; with Opex it sums to TCO
	Opex          Money   `json:"opex"`

	Components []Component `json:"components"` // sum to TCO
	Cash       []Month     `json:"cash"`       // months 0 (before the first) to the horizon; sum to TCO
	Use        []Component `json:"use"`        // what the TCO was spent on: served traffic, retries, idle time, spares; sums to TCO

	Tokens      Tokens  `json:"tokens"` // useful ones in the horizon
	Requests    float64 `json:"requests"`
	Utilisation float64 `json:"utilisation"` // work done / what the serving chips hold within the SLA, averaged over the horizon
	Actual      Prices  `json:"actual"`      // at that utilisation
	FullLoad    Prices  `json:"full_load"`   // the same fleet busy at 100 % for the whole horizon
	OtherMethod *Other  `json:"other_method,omitempty"`

	ChipHours     float64 `json:"chip_hours"`      // paid for
	BusyChipHours float64 `json:"busy_chip_hours"` // of these, working
	Energy        Power   `json:"energy"`

	Definitions []string  `json:"definitions"`
	Warnings    []Finding `json:"warnings,omitempty"`
}

// Component is one line of the TCO.
type Component struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "capex", "opex"; "use" for lines of Use
	Amount Money  `json:"amount"`
}

// Month is the cash of one month, by component in the order of Result.Components.
type Month struct {
	Month       int     `json:"month"`
	Amount      Money   `json:"amount"`
	Cumulative  Money   `json:"cumulative"`
	ByComponent []Money `json:"by_component"`
}

// Prices are unit costs under one utilisation.
type Prices struct {
	Both          float64   `json:"per_m_tokens"`                 // cost / (input + output tokens), cached input included
	PerOutput     float64   `json:"per_m_output_tokens_all_cost"` // whole cost / output tokens: what "per output" tables mean
	ByPriceRatio  PerClass  `json:"by_price_ratio"`               // split so that output costs a fixed multiple of input
	ByChipSeconds *PerClass `json:"by_chip_seconds,omitempty"`    // split by simulated time; absent when that is unknown
	PerRequest    float64   `json:"per_request,omitempty"`        // 0: requests unknown
	PerUserMonth  float64   `json:"per_user_month,omitempty"`     // 0: users unknown
	JoulesPerTok  float64   `json:"joules_per_token"`             // facility energy over input + output tokens
	KWhPerM       float64   `json:"kwh_per_m_tokens"`
	KgCO2ePerM    *float64  `json:"kgco2e_per_m_tokens,omitempty"` // absent when the grid's carbon is unknown
	PerDollar     float64   `json:"tokens_per_currency_unit"`      // input + output tokens for one unit of currency
}

// Other is the answer under the other capex method.
type Other struct {
	Method string  `json:"method"`
	TCO    Money   `json:"tco"`
	Both   float64 `json:"per_m_tokens"`
}

// Power is energy and power of the fleet. IT excludes PUE; facility includes it.
type Power struct {
	MeanITKilowatts          float64  `json:"mean_it_kilowatts"`
	MeanFacilityKilowatts    float64  `json:"mean_facility_kilowatts"`
	ProvisionedITKilowatts   float64  `json:"provisioned_it_kilowatts"`
	FacilityKWh              float64  `json:"facility_kwh"` // over the horizon
	FacilityKgCO2e           *float64 `json:"facility_kgco2e,omitempty"`
	FullTokensPerSecondPerW  float64  `json:"full_tokens_per_second_per_it_watt"` // at 100 %, input + output
	FullTokensPerSecondPerMW float64  `json:"full_tokens_per_second_per_facility_megawatt"`
}

// Finding is a doubt about an input, carried with the result and printed as a footnote.
type Finding struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}
