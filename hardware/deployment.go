package hardware

import (
	"fmt"
	"strings"

	"scoville/model/llm"
)

// Deployment is one replica: a model in some precision, split over chips, run by an engine.
type Deployment struct {
	Chip      Chip
	Model     llm.Architecture
	Precision llm.Precision
	Split     llm.Split // zero degrees count as 1
	Engine    EngineProfile
	// PowerLimitWatts, when positive, caps each chip below its limit; steps then stretch, see powerModel.
	PowerLimitWatts float64
	factors         Factors // of a calibration, see Adjusted
	// Speculative draft tokens verified a step are the simulator's; see Batch.Speculative.
}

// Check refuses a deployment that can't run, memory apart.
func (d Deployment) Check() error {
	if b := d.Chip.Blanks(); len(b) > 0 {
		return fmt.Errorf("chip %s is a template: fill in %s", d.Chip.Name, strings.Join(b, ", "))
	}
	if err := d.Chip.Check(); err != nil {
		return fmt.Errorf("chip %s: %w", d.Chip.Name, err)
	}
	if err := d.Engine.Check(); err != nil {
		return fmt.Errorf("engine %s %s: %w", d.Engine.Name, d.Engine.Version, err)
	}
	if err := d.Precision.Check(); err != nil {
		return err
	}
	s := d.Split.Normal()
	if d.Model.Layers <= 0 || d.Model.Hidden <= 0 {
		return fmt.Errorf("model %q has no layers or no width", d.Model.Name)
	}
	if s.Pipeline > d.Model.Layers {
		return fmt.Errorf("pipeline parallel degree %d exceeds the %d layers", s.Pipeline, d.Model.Layers)
	}
	if s.Expert > 1 && d.Model.MoE.Experts == 0 {
		return fmt.Errorf("expert parallel degree %d: %s has no experts", s.Expert, d.Model.Name)
	}
	if domain := max(d.Chip.Link.ScaleUpDomain, d.Chip.Node.Chips); s.Tensor > domain {
		return fmt.Errorf("tensor parallel degree %d exceeds the scale-up domain of %d %s chips; use pipeline parallelism across", s.Tensor, domain, d.Chip.Name)
	}
	if d.PowerLimitWatts < 0 || d.PowerLimitWatts > 0 && d.PowerLimitWatts <= d.Chip.Power.IdleWatts.Value {
		return fmt.Errorf("power limit of %g W is not above the idle draw of %g W", d.PowerLimitWatts, d.Chip.Power.IdleWatts.Value)
	}
	return nil
}
