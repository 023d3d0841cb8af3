package hardware

import "math"

// powerModel is the draw of one chip:
//
//	joules = (idle + active) seconds + joules/FLOP x FLOPs + joules/byte x bytes
//
// capped at the limit. Under the cap the clock falls and time stretches by (watts wanted / limit)^capExponent.
type powerModel struct {
	idle, active, limit float64
	perFLOP, perByte    float64
}

// capExponent: 8 x H200 under MLPerf Inference v4.1 keep 79 to 83 % of their throughput at 500 of 700 W and 61 to 65 % at 350 W:
// ln 0.81 / ln 0.714 = 0.63, ln 0.63 / ln 0.5 = 0.67.
const capExponent = 0.65

// Shares of (limit - idle) where a chip has no fitted energies: what H100 and B200 show, see docs/model.md.
const (
	activeShare  = 0.03
	computeShare = 1.0  // at 80 % of peak FLOP/s
	memoryShare  = 0.85 // at 90 % of peak bandwidth
)

func newPowerModel(c Chip, limit float64) powerModel {
	p := powerModel{idle: c.Power.IdleWatts.Value, limit: c.Power.LimitWatts.Value}
	span := p.limit - p.idle
	p.active, p.perFLOP, p.perByte = c.Power.ActiveWatts.Value, c.Power.JoulesPerFLOP.Value, c.Power.JoulesPerByte.Value
	if !c.Power.ActiveWatts.Known() {
		p.active = activeShare * span
	}
	if !c.Power.JoulesPerFLOP.Known() {
		p.perFLOP = computeShare * span / (0.8 * c.Peak.BF16.Value)
	}
	if !c.Power.JoulesPerByte.Known() {
		p.perByte = memoryShare * span / (0.9 * c.Memory.BytesPerSecond.Value)
	}
	if limit > 0 {
		p.limit = math.Min(p.limit, limit)
	}
	return p
}

// dynamic is the energy of work beyond idle and active draw.
func (p powerModel) dynamic(k piece) float64 { return p.perFLOP*k.energyFLOPs + p.perByte*k.bytes }

// stretch is by how much the kernels of a step slow down under the power limit: 1 where the mean draw of the step stays below it.
func (p powerModel) stretch(k piece, seconds float64) float64 {
	if seconds <= 0 {
		return 1
	}
	watts := p.idle + p.active + p.dynamic(k)/seconds
	if watts <= p.limit {
		return 1
	}
	return math.Pow(watts/p.limit, capExponent)
}

// joules of one chip. Under the cap the energy of the work falls with the clock and voltage: the chip draws its limit.
func (p powerModel) joules(k piece, kernelSeconds, overhead, stretch float64) float64 {
	seconds := kernelSeconds*stretch + overhead
	if stretch > 1 {
		return p.limit*kernelSeconds*stretch + math.Min(p.idle+p.active, p.limit)*overhead
	}
	return (p.idle+p.active)*seconds + p.dynamic(k)
}

// Watts is the wall draw of a node whose chips together draw some watts: the host, its fans, network and conversion loss on top.
func (n Node) Watts(chips float64) float64 {
	return chips + n.OverheadWatts.Value + n.OverheadPerWatt.Value*chips
}
